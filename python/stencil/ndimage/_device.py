# SPDX-License-Identifier: MIT OR Apache-2.0
"""Filters of arrays in the memory of a GPU, by the library's stencils: one step of `stencil.run` for each sum."""

import numpy as np

from .. import _stencil

# DLPack's number of CUDA.
_CUDA = 2
_RADIUS = 16
_BOUNDARIES = {"reflect": "symmetric", "mirror": "reflect", "nearest": "edge", "wrap": "periodic"}
_OPTIONS = dict.fromkeys(["dtype", "kernel", "fuse", "chain", "jump"]) | {"engine": "auto"}


class Array:
    """An array of a GPU, with what is asked of its shape."""

    def __init__(self, array):
        self.array = array
        self.ndim = len(array.shape)


def array_of(array):
    """The array, if it lies in the memory of a GPU and gives itself by DLPack."""
    if isinstance(array, Array):
        return array
    if isinstance(array, np.ndarray) or not hasattr(array, "__dlpack_device__"):
        return None
    return Array(array) if int(array.__dlpack_device__()[0]) == _CUDA else None


def refused(what, help):
    return TypeError(f"{what} are not computed of an array of a GPU: {help}")


def _check(array, output, what):
    if output is not None:
        raise refused("results with output=", "leave output out, and take the array that is returned by DLPack")
    if array.ndim > 3:
        raise refused(f"{what} of {array.ndim} axes", "give three at most, or one part after the other")


def lines(array, output, given):
    """Sums along one axis after the other."""
    _check(array, output, "filters")
    now = array
    for line in given:
        shape, first = [1] * array.ndim, [0] * array.ndim
        shape[line.axis], first[line.axis] = len(line.weights), line.first
        now = Array(_sum(now, (line.weights / line.divisor).reshape(shape), first, line.mode, line.cval, [line.axis]))
    if not given:
        shape = [1] * array.ndim
        return _sum(array, np.ones(shape), [0] * array.ndim, "nearest", 0.0, [])
    return now.array


def box(array, output, weights, first, mode, cval):
    """A sum over a box."""
    _check(array, output, "sums")
    return _sum(array, weights, first, mode, cval, range(array.ndim))


def _sum(array, weights, first, mode, cval, axes):
    """A stencil with a centre: zeros stand where the weights do not reach as far to one side as to the other."""
    if weights.dtype.kind == "c" or np.iscomplexobj(cval):
        raise refused("complex weights", "give their real and imaginary parts")
    radii = [max(-low, low + extent - 1, 0) for low, extent in zip(first, weights.shape)]
    if max(radii, default=0) > _RADIUS:
        text = f"sums that reach {max(radii)} points"
        raise refused(text, f"{_RADIUS} points are the most; give a smaller radius, or copy the array to the host")
    around = [(radius + low, radius - low - extent + 1) for radius, low, extent in zip(radii, first, weights.shape)]
    kind = f"constant={float(cval)!r}" if mode == "constant" else _BOUNDARIES[mode]
    names = "zyx"[3 - array.ndim :]
    options = _OPTIONS | {"boundary": {names[axis]: kind for axis in axes} or "zero"}
    return _stencil.run(np.pad(weights, around), array.array, 1, "off", options)
