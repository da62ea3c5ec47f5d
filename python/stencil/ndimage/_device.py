# SPDX-License-Identifier: MIT OR Apache-2.0
"""Filters of arrays in the memory of a GPU, which they do not leave."""

import math
import threading

import numpy as np

from .. import _stencil
from . import _compute, _libraries

# DLPack's number of CUDA.
_CUDA = 2
_COMPLEX = ("complex weights", "give their real and imaginary parts")


class Array:
    """An array of a GPU, in C order, with what is asked of its shape."""

    def __init__(self, array, is_output=False):
        self.library = library = _libraries.of(array)
        # An output is the array itself, or none.
        self.array = array if is_output or library is None else library.in_order(array)
        # What the extension reads; it keeps the array.
        if library is None:
            self.given = _stencil.DeviceInput(array, None)
        else:
            self.given = _stencil.DeviceInput(library.capsule(self.array), library.stream())
        self.shape = self.given.shape
        self.ndim = len(self.shape)

    @property
    def dtype(self):
        """The name of the type of its values."""
        return self.given.dtype


def array_of(array, is_output=False):
    """The array, if it lies in the memory of a GPU and gives itself by DLPack."""
    if isinstance(array, Array):
        return array
    if isinstance(array, np.ndarray) or not hasattr(array, "__dlpack_device__"):
        return None
    return Array(array, is_output) if int(array.__dlpack_device__()[0]) == _CUDA else None


def refused(what, help):
    return TypeError(f"{what} are not computed of an array of a GPU: {help}")


def _output_of(array, output):
    """The array of a GPU that results are written to, if one is given, and the name of the type of a new one."""
    if output is None:
        return None, array.dtype
    given = array_of(output, is_output=True) if hasattr(output, "__dlpack_device__") else None
    if given:
        if given.shape != array.shape:
            raise RuntimeError("output shape not correct")
        return given, given.dtype
    if hasattr(output, "__array__") and not isinstance(output, (type, np.generic)):
        raise refused("results in an array of the host", "give an output that lies on the GPU, or none")
    # A type of numpy, or of torch, whose name has its package in front.
    name = str(output).rpartition(".")[2] if type(output).__module__ == "torch" else None
    return None, name or np.dtype(output).name


# What the extension made of filters, by what was asked for: the one used last is the last one.
_KEPT = {}
_MOST = 64
_LOCK = threading.Lock()


def _kept(key, make):
    """The filters of the extension for a key, made where they are not known."""
    with _LOCK:
        filters = _KEPT.pop(key, None)
    if filters is None:
        filters = [_stencil.DeviceFilter(*folded) for folded in make()]
    with _LOCK:
        _KEPT[key] = filters
        while len(_KEPT) > _MOST:
            del _KEPT[next(iter(_KEPT))]
    return filters


def _filter(array, output, dtype, filters):
    """Filters an array into another one, or into a new one of a type, by filters one after the other, and gives that."""
    for made in filters[:-1]:
        array = Array(_filter_once(array, None, dtype, made))
    return _filter_once(array, output, dtype, filters[-1])


def _filter_once(array, output, dtype, made):
    library = array.library
    if library is None:
        new = _stencil.filter_on_gpu(array.given, output and output.given, dtype, made)
        return new if output is None else output.array
    if output is None:
        output = _new(array, dtype)
    # Of arrays of two libraries the extension makes the copy itself.
    if array.given.overlaps(output.given) and type(output.library) is type(library):
        fresh = _new(array, output.dtype)
        _stencil.filter_on_gpu(array.given, fresh.given, dtype, made)
        library.copy(fresh.array, output.array)
    else:
        _stencil.filter_on_gpu(array.given, output.given, dtype, made)
    return output.array


def _new(array, dtype):
    """A new array of the library that an array is of, of its shape."""
    try:
        return Array(array.library.empty(array.shape, dtype), is_output=True)
    except AttributeError:
        raise RuntimeError(f"data type {dtype} not supported of arrays of a GPU") from None


def is_one_sum(array, output, cval):
    """Whether sums along several axes that are added up are one sum: nothing is cut between them."""
    is_float = ["float" in name for name in (array.dtype, _output_of(array, output)[1])]
    return all(is_float) or not any(is_float) and float(cval).is_integer()


def lines(array, output, given):
    """Sums along one axis after the other; between them values have the type of the output."""
    if any(line.weights.dtype.kind == "c" or np.iscomplexobj(line.cval) for line in given):
        raise refused(*_COMPLEX)
    output, dtype = _output_of(array, output)
    kind, shape = "f" if "float" in dtype else "i", array.shape
    given = [line._replace(cval=float(line.cval)) for line in given]

    def make():
        groups = list(_compute.groups(shape, _compute.in_order(kind, given)))
        alone = ([1, 1, math.prod(shape[:-1]), math.prod(shape[-1:])], 1), (["nearest"] * 3, 0.0), [([([0, 0, 0], 1.0)], False, 1.0)]
        return [_compute.folded_lines(shape, group) for group in groups] or [alone]

    key = kind, shape, tuple((line.axis, line.weights.tobytes(), *line[2:]) for line in given)
    return _filter(array, output, dtype, _kept(key, make))


def box(array, output, weights, first, mode, cval):
    """A sum over a box."""
    if weights.dtype.kind == "c" or np.iscomplexobj(cval):
        raise refused(*_COMPLEX)
    output, dtype = _output_of(array, output)
    shape, is_double = array.shape, "float64" in (dtype, array.dtype)

    def make():
        active = [axis for axis, extent in enumerate(weights.shape) if extent > 1 or first[axis] != 0]
        if "float" in dtype:
            written = "f", np.float64 if is_double else np.float32
            lines = _compute.lines_of(shape, weights, first, active, (mode, cval), written, cost=1)
            if lines:
                return [_compute.folded_lines(shape, group) for group in _compute.groups(shape, _compute.in_order("f", lines))]
        folded = _compute.folded_box(shape, weights, first, active, mode, cval) if len(active) <= 3 else None
        if folded is None:
            raise refused("sums over such axes", "three at most, which are the last ones: transpose the array, and make it contiguous")
        if not folded[-1][0][0]:
            folded = (*folded[:-1], [([([0, 0, 0], 0.0)], False, 1.0)])
        return [folded]

    key = "float" in dtype, is_double, shape, weights.shape, weights.tobytes(), tuple(first), mode, float(cval)
    return _filter(array, output, dtype, _kept(key, make))


def combined(array, function, output, changes, modes, cval, extra_arguments, extra_keywords, axes):
    """What `function` gives along each axis, added up after the first of `changes` changed each; the second changes the sum. Each is the
    name of what the array's library has for it, or none."""
    library, (begin, end) = array.library, changes
    if library is None:
        raise refused("sums of filters along several axes", "give a tensor of torch or an array of CuPy, as by torch.from_dlpack")
    output, dtype = _output_of(array, output)
    if not axes:
        return lines(array, output, [])
    if dtype in library.NOT_ADDED:
        raise refused(f"sums of filters along several axes in {dtype}", "give an output that is signed, or convert the array")
    # A part is not written where the next one reads, and only to arrays of the library that adds them up.
    is_total = output is not None and type(output.library) is type(library) and not array.given.overlaps(output.given)
    total = output.array if is_total else _new(array, dtype).array
    for number, (axis, mode) in enumerate(zip(axes, modes)):
        part = _new(array, dtype).array if number else total
        function(array.array, axis, part, mode, cval, *extra_arguments, **extra_keywords)
        if begin:
            getattr(library, begin)(part)
        if number:
            library.add(part, total)
    if end:
        getattr(library, end)(total)
    return total if is_total or output is None else lines(Array(total), output, [])
