# SPDX-License-Identifier: MIT OR Apache-2.0
"""The rules that scipy.ndimage has for arguments, with its exceptions."""

import operator
import warnings

import numpy as np

# The modes by the names that the library has for them.
_MODES = {
    "reflect": "reflect",
    "grid-mirror": "reflect",
    "constant": "constant",
    "grid-constant": "constant",
    "nearest": "nearest",
    "mirror": "mirror",
    "wrap": "wrap",
    "grid-wrap": "wrap",
}


def mode_of(mode):
    """The library's name of a mode."""
    known = _MODES.get(mode) if isinstance(mode, str) else None
    if known is None:
        raise RuntimeError(f"boundary mode not supported: {mode!r}; the modes are {', '.join(_MODES)}")
    return known


def is_sequence(value):
    return not isinstance(value, str) and np.iterable(value)


def per_axis(value, count):
    """A value for each axis, of one for all or a sequence."""
    if not is_sequence(value):
        return [value] * count
    values = list(value)
    if len(values) != count:
        raise RuntimeError("sequence argument must have length equal to input rank")
    return values


def axis_of(axis, ndim):
    axis = operator.index(axis)
    if not -ndim <= axis < ndim:
        raise np.exceptions.AxisError(axis, ndim)
    return axis % ndim


def axes_of(axes, ndim):
    """The axes that are filtered, each from 0 on."""
    if axes is None:
        return tuple(range(ndim))
    if np.isscalar(axes):
        axes = (operator.index(axes),)
    elif np.iterable(axes):
        axes = tuple(operator.index(axis) for axis in axes)
    else:
        raise ValueError("axes must be an integer, iterable of integers, or None")
    for axis in axes:
        if not -ndim <= axis < ndim:
            raise ValueError(f"specified axis: {axis} is out of range")
    axes = tuple(axis % ndim for axis in axes)
    if len(set(axes)) != len(axes):
        raise ValueError("axes must be unique")
    return axes


def output_of(output, input, is_complex=False):
    """The array that results are written to: the one that is given, or a new one of the type that is given."""
    if output is None:
        kind = np.promote_types(input.dtype, np.complex64) if is_complex else input.dtype.newbyteorder("=")
        return np.empty(input.shape, kind)
    if isinstance(output, (type, np.dtype)):
        kind = np.dtype(output)
        if is_complex and kind.kind != "c":
            warnings.warn("promoting specified output dtype to complex", stacklevel=3)
            kind = np.promote_types(kind, np.complex64)
        return np.empty(input.shape, kind)
    if isinstance(output, str):
        kind = np.dtype(output)
        if is_complex and kind.kind != "c":
            raise RuntimeError("output must have complex dtype")
        if not issubclass(kind.type, np.number):
            raise RuntimeError("output must have numeric dtype")
        return np.empty(input.shape, kind)
    output = np.asarray(output)
    if output.shape != input.shape:
        raise RuntimeError("output shape not correct")
    if is_complex and output.dtype.kind != "c":
        raise RuntimeError("output must have complex dtype")
    return output


def offsets_of(length, origin, words):
    """The offset of the first weight of so many; `words` name them in an error."""
    if not -(length // 2) <= origin <= (length - 1) // 2:
        raise ValueError(f"Invalid origin; origin must satisfy -({words} // 2) <= origin <= ({words}-1) // 2")
    return -(length // 2) - origin
