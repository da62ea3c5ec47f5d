# SPDX-License-Identifier: MIT OR Apache-2.0
"""Filters of arrays in the memory of a GPU, which they do not leave."""

import math

import numpy as np

from .. import _stencil
from . import _compute

# DLPack's number of CUDA.
_CUDA = 2
_COMPLEX = ("complex weights", "give their real and imaginary parts")


class Array:
    """An array of a GPU, in C order, with what is asked of its shape."""

    def __init__(self, array):
        # What the library reads; it keeps the array.
        self.given = _stencil.DeviceInput(array)
        self.shape = self.given.shape
        self.ndim = len(self.shape)


def array_of(array):
    """The array, if it lies in the memory of a GPU and gives itself by DLPack."""
    if isinstance(array, Array):
        return array
    if isinstance(array, np.ndarray) or not hasattr(array, "__dlpack_device__"):
        return None
    return Array(array) if int(array.__dlpack_device__()[0]) == _CUDA else None


def refused(what, help):
    return TypeError(f"{what} are not computed of an array of a GPU: {help}")


def _output_of(array, output):
    """The array of a GPU that results are written to, if one is given, and the name of the type of a new one."""
    if output is None:
        return None, array.given.dtype
    given = array_of(output) if hasattr(output, "__dlpack_device__") else None
    if given:
        if given.shape != array.shape:
            raise RuntimeError("output shape not correct")
        return given.given, given.given.dtype
    if hasattr(output, "__array__") and not isinstance(output, (type, np.generic)):
        raise refused("results in an array of the host", "give an output that lies on the GPU, or none")
    # A type of numpy, or of torch, whose name has its package in front.
    name = str(output).rpartition(".")[2] if type(output).__module__ == "torch" else None
    return None, name or np.dtype(output).name


def is_one_sum(array, output, cval):
    """Whether sums along several axes that are added up are one sum: nothing is cut between them."""
    is_float = ["float" in name for name in (array.given.dtype, _output_of(array, output)[1])]
    return all(is_float) or not any(is_float) and float(cval).is_integer()


def lines(array, output, given):
    """Sums along one axis after the other; between them values have the type of the output."""
    if any(line.weights.dtype.kind == "c" or np.iscomplexobj(line.cval) for line in given):
        raise refused(*_COMPLEX)
    original = output
    output, dtype = _output_of(array, output)
    kind = "f" if "float" in dtype else "i"
    groups = list(_compute.groups(array.shape, _compute.in_order(kind, given)))
    if not groups:
        extents = [1, 1, math.prod(array.shape[:-1]), math.prod(array.shape[-1:])]
        alone = (extents, 1), (["nearest"] * 3, 0.0), [([([0, 0, 0], 1.0)], False, 1.0)]
        new = _stencil.filter_on_gpu(array.given, output, dtype, *alone)
        return original if new is None else new
    for number, group in enumerate(groups):
        to = output if number + 1 == len(groups) else None
        new = _stencil.filter_on_gpu(array.given, to, dtype, *_compute.folded_lines(array.shape, group))
        if new is not None and number + 1 < len(groups):
            array = Array(new)
    return original if new is None else new


def box(array, output, weights, first, mode, cval):
    """A sum over a box."""
    if weights.dtype.kind == "c" or np.iscomplexobj(cval):
        raise refused(*_COMPLEX)
    original = output
    output, dtype = _output_of(array, output)
    written = ("f", np.float64 if "float64" in (dtype, array.given.dtype) else np.float32)
    active = [axis for axis, extent in enumerate(weights.shape) if extent > 1 or first[axis] != 0]
    product = "float" in dtype and _compute.lines_of(array.shape, weights, first, active, (mode, cval), written)
    if product:
        return lines(array, original, product)
    folded = _compute.folded_box(array.shape, weights, first, active, mode, cval) if len(active) <= 3 else None
    if folded is None:
        raise refused("sums over such axes", "three at most, which are the last ones: transpose the array, and make it contiguous")
    if not folded[-1][0][0]:
        folded = (*folded[:-1], [([([0, 0, 0], 0.0)], False, 1.0)])
    new = _stencil.filter_on_gpu(array.given, output, dtype, *folded)
    return original if new is None else new
