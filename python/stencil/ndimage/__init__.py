# SPDX-License-Identifier: MIT OR Apache-2.0
"""The linear filters of `scipy.ndimage`, with its signatures, its rules and its results.

    >>> import numpy as np
    >>> from stencil import ndimage
    >>> ndimage.gaussian_filter(np.ones((480, 640), np.float32), 2).shape
    (480, 640)

Arguments that the functions share:

input
    an array of any number of axes: whole numbers, bools, float32, float64, complex64 or complex128. An array in the
    memory of a GPU that gives itself by DLPack stays there: whole numbers, bools (as uint8), float16, bfloat16, float32, float64. Of tensors of torch
    such are returned, of arrays of CuPy such, of others a `stencil.DeviceArray`, or `output`, if that is an array there. Filters of tensors and of
    arrays of CuPy are computed in the present stream of their library, without waiting for it.
output
    the array that is written to and returned, or the type of a new one; by default that of `input`. Whole numbers are
    computed exactly, or in float64 in the order of scipy, and cut towards zero, so that they are those of scipy.
    float32 is computed in float32 where `input` has no wider type, all else in float64.
mode
    what lies outside: "reflect" (the default; d c b a | a b c d), "mirror" (d c b | a b c d), "nearest", "wrap", "constant"
    (`cval`), or "grid-mirror", "grid-wrap", "grid-constant". Functions that filter one axis after the other take a sequence, one for each.
origin
    moves the weights by so many points: to the left if it is positive.
axes
    the axes that are filtered, by default all; the others are left alone, as batches or channels.

Mistakes raise what scipy raises: `RuntimeError` for modes, shapes and types, `ValueError` for origins and axes.
`median_filter`, `minimum_filter`, `maximum_filter`, `rank_filter`, `percentile_filter` and the others of scipy are no weighted sums, and are not here.
"""

import functools
import numbers

import numpy as np

from .._arrays import on_host
from . import _arguments, _compute, _device
from ._arguments import axes_of, axis_of, mode_of, output_of, per_axis

__all__ = [
    "convolve",
    "convolve1d",
    "correlate",
    "correlate1d",
    "gaussian_filter",
    "gaussian_filter1d",
    "gaussian_gradient_magnitude",
    "gaussian_laplace",
    "generic_gradient_magnitude",
    "generic_laplace",
    "laplace",
    "prewitt",
    "sobel",
    "uniform_filter",
    "uniform_filter1d",
]


def __getattr__(name):
    text = f"module {__name__!r} has no attribute {name!r}"
    if name.endswith(("filter", "filter1d")):
        text += f": it is no weighted sum; take scipy.ndimage.{name}"
    raise AttributeError(text)


def _by_parts(filter, input, weights, output, cval):
    """A filter of complex numbers, by those of real ones: `filter(input, weights, output, cval)`."""
    if input.dtype.kind != "c":
        filter(input, weights.real, output.real, cval)
        filter(input, weights.imag, output.imag, cval)
    elif weights.dtype.kind != "c":
        filter(input.real, weights, output.real, np.real(cval))
        filter(input.imag, weights, output.imag, np.imag(cval))
    else:
        real, imaginary = np.real(cval), np.imag(cval)
        part = np.empty(input.shape, output.real.dtype)
        if np.may_share_memory(input, output):
            input = input.copy()
        filter(input.real, weights.real, output.real, real)
        filter(input.imag, weights.imag, part, imaginary)
        output.real -= part
        filter(input.real, weights.imag, output.imag, real)
        filter(input.imag, weights.real, part, imaginary)
        output.imag += part
    return output


def _check_constant(input, cval):
    if input.dtype.kind != "c" and np.iscomplexobj(cval):
        raise ValueError("Cannot provide a complex-valued cval when the input is real.")


def correlate1d(input, weights, axis=-1, output=None, mode="reflect", cval=0.0, origin=0):
    """Sums of the values along one axis, with weights.

    `out[i] = sum of weights[j] * input[i + j - len(weights) // 2 - origin]`. `weights` is a sequence of any length, real or
    complex; of complex weights the conjugates count. The other arguments are those of `help(stencil.ndimage)`. Returns an array of the shape of `input`.

    Raises `RuntimeError` for no weights or an unknown mode, `ValueError` for an origin outside the weights.

        >>> from stencil import ndimage
        >>> ndimage.correlate1d([2, 8, 0, 4, 1, 9, 9, 0], weights=[1, 3]).tolist()
        [8, 26, 8, 12, 7, 28, 36, 9]
    """
    return _correlate1d(input, weights, axis, output, mode, cval, origin, False)


def convolve1d(input, weights, axis=-1, output=None, mode="reflect", cval=0.0, origin=0):
    """Sums of the values along one axis, with weights in the reverse order: a convolution.

    Arguments, result and errors are those of `correlate1d`, but that complex weights count as they are.

        >>> from stencil import ndimage
        >>> ndimage.convolve1d([2, 8, 0, 4, 1, 9, 9, 0], weights=[1, 3]).tolist()
        [14, 24, 4, 13, 12, 36, 27, 0]
    """
    weights = on_host("the weights", weights)[::-1]
    if weights.dtype.kind == "c":
        weights = weights.conj()
    return _correlate1d(input, weights, axis, output, mode, cval, -origin - (len(weights) + 1) % 2, False)


def _correlate1d(input, weights, axis, output, mode, cval, origin, is_mean):
    weights = on_host("the weights", weights)
    device = _device.array_of(input)
    input = device or on_host("the array", input)
    if not device:
        _check_constant(input, cval)
    if weights.ndim != 1 or len(weights) < 1:
        raise RuntimeError("no filter weights given")
    if weights.dtype.kind == "c":
        weights = weights.conj().astype(np.complex128)
    else:
        weights = weights.astype(np.float64)
    first = _arguments.offsets_of(len(weights), origin, "len(weights)")
    axis, mode = axis_of(axis, input.ndim), mode_of(mode)
    divisor = float(len(weights)) if is_mean else 1.0
    if device:
        return _device.lines(device, output, [_compute.Line(axis, weights, first, mode, cval, divisor)])
    is_complex = "c" in (input.dtype.kind, weights.dtype.kind)
    output = output_of(output, input, is_complex)

    def filter(input, weights, output, cval):
        _compute.lines(input, output, [_compute.Line(axis, weights, first, mode, float(cval), divisor)])

    if is_complex:
        return _by_parts(filter, input, weights, output, cval)
    filter(input, weights, output, cval)
    return output


def correlate(input, weights, output=None, mode="reflect", cval=0.0, origin=0, *, axes=None):
    """Sums of the values around each point, with weights.

    `weights` is an array with as many axes as `input`, or as `axes`, of any extents, real or complex; `origin` is one number or one for each of its
    axes, and `mode` one for all. The other arguments are those of `help(stencil.ndimage)`. Returns an array of the shape of `input`.

    Raises `RuntimeError` for weights of another number of axes or an unknown mode, `ValueError` for an origin outside the weights.

        >>> import numpy as np
        >>> from stencil import ndimage
        >>> ndimage.correlate(np.arange(6).reshape(2, 3), [[1, 0], [0, 1]]).tolist()
        [[0, 1, 3], [3, 4, 6]]
    """
    return _correlate(input, weights, output, mode, cval, origin, axes, False)


def convolve(input, weights, output=None, mode="reflect", cval=0.0, origin=0, *, axes=None):
    """Sums of the values around each point, with weights in the reverse order along each axis: a convolution.

    Arguments, result and errors are those of `correlate`.

        >>> import numpy as np
        >>> from stencil import ndimage
        >>> ndimage.convolve(np.arange(6).reshape(2, 3), [[1, 0], [0, 1]]).tolist()
        [[4, 6, 7], [7, 9, 10]]
    """
    return _correlate(input, weights, output, mode, cval, origin, axes, True)


def _correlate(input, weights, output, mode, cval, origin, axes, is_convolution):
    device = _device.array_of(input)
    input = device or on_host("the array", input)
    if not device:
        _check_constant(input, cval)
    weights = on_host("the weights", weights)
    if weights.dtype.kind == "c":
        weights = weights if is_convolution else weights.conj()
    else:
        weights = weights.astype(np.float64)
    is_complex = not device and "c" in (input.dtype.kind, weights.dtype.kind)
    axes = axes_of(axes, input.ndim)
    if weights.ndim != len(axes) or (weights.size == 0 and 0 in weights.shape):
        raise RuntimeError(f"weights.ndim ({weights.ndim}) must match len(axes) ({len(axes)})")
    origins = [0] * input.ndim
    for axis, one in zip(axes, per_axis(origin, len(axes))):
        origins[axis] = one
    # As scipy does, axes of the weights are those of the array in their order.
    weights = np.expand_dims(weights, [axis for axis in range(input.ndim) if axis not in axes])
    if is_convolution:
        weights = np.flip(weights)
        origins = [-one - (extent + 1) % 2 for one, extent in zip(origins, weights.shape)]
    pairs = zip(weights.shape, origins)
    first = [_arguments.offsets_of(extent, one, "weights.shape[k]") for extent, one in pairs]
    if _arguments.is_sequence(mode):
        raise RuntimeError("A sequence of modes is not supported")
    mode = mode_of(mode)
    if device:
        return _device.box(device, output, weights, first, mode, cval)
    output = output_of(output, input, is_complex)

    def filter(input, weights, output, cval):
        _compute.box(input, output, weights, first, mode, float(cval))

    if is_complex:
        return _by_parts(filter, input, weights, output, cval)
    filter(input, weights, output, cval)
    return output


def _each_axis(input, output, lines, cval):
    """Sums along one axis after the other. Between them values have the type of the output."""
    if isinstance(input, _device.Array):
        return _device.lines(input, output, lines)
    if not lines:
        output[...] = input[...]
    elif output.dtype.kind == "c":

        def filter(part, _, output, cval):
            given = [line._replace(cval=float(cval)) for line in lines]
            _compute.lines(part, output, given)

        if input.dtype.kind == "c":
            return _by_parts(filter, input, np.empty(0), output, cval)
        filter(input, None, output.real, np.real(cval))
        output.imag = 0
    else:
        _compute.lines(input, output, lines)
    return output


@functools.lru_cache(64)
def _gaussian_weights(sigma, order, radius):
    """A Gaussian's derivative of this order: a polynomial times the Gaussian, whose sum is 1. Nobody writes to it."""
    if order < 0:
        raise ValueError("order must be non-negative")
    x = np.arange(-radius, radius + 1)
    gaussian = np.exp(-0.5 / (sigma * sigma) * x**2)
    gaussian = gaussian / gaussian.sum()
    if order == 0:
        return gaussian
    # Of q(x) exp(p(x)) the derivative is (q' + q p') exp(p), and p' = -x / sigma**2.
    exponents = np.arange(order + 1)
    q = np.zeros(order + 1)
    q[0] = 1
    derive = np.diag(exponents[1:], 1) + np.diag(np.ones(order) / -(sigma * sigma), -1)
    for _ in range(order):
        q = derive.dot(q)
    return (x[:, None] ** exponents).dot(q) * gaussian


def _gaussian_line(axis, sigma, order, mode, cval, truncate, radius):
    sigma = float(sigma)
    if radius is None:
        radius = int(truncate * sigma + 0.5)
    if not isinstance(radius, numbers.Integral) or radius < 0:
        raise ValueError("Radius must be a nonnegative integer.")
    # A correlation with the reverse is the convolution.
    weights = _gaussian_weights(sigma, order, radius)[::-1]
    return _compute.Line(axis, weights, -radius, mode_of(mode), cval)


def gaussian_filter1d(
    input, sigma, axis=-1, order=0, output=None, mode="reflect", cval=0.0, truncate=4.0, *, radius=None
):
    """A Gaussian filter along one axis.

    `sigma` is its standard deviation in points, `order` that of the derivative, 0 for none. It reaches `radius` points to each side, by default
    `int(truncate * sigma + 0.5)`. The other arguments are those of `help(stencil.ndimage)`. Returns an array of the shape of `input`.

    Raises `ValueError` for a negative order or radius, `RuntimeError` for an unknown mode.

        >>> from stencil import ndimage
        >>> ndimage.gaussian_filter1d([1.0, 2, 3, 4, 5], 1).round(3).tolist()
        [1.427, 2.068, 3.0, 3.932, 4.573]
    """
    line = _gaussian_line(axis, sigma, order, mode, cval, truncate, radius)
    return _correlate1d(input, line.weights, axis, output, mode, cval, 0, False)


def gaussian_filter(
    input, sigma, order=0, output=None, mode="reflect", cval=0.0, truncate=4.0, *, radius=None, axes=None
):
    """A Gaussian filter along each axis.

    `sigma`, `order`, `mode` and `radius` are one for all of `axes`, or a sequence; axes with `sigma=0` are left alone. They mean
    what they mean to `gaussian_filter1d`. The other arguments are those of `help(stencil.ndimage)`. Returns an array of the shape of `input`.

    Raises `ValueError` for a negative order or radius, `RuntimeError` for sequences of another length and unknown modes.

        >>> import numpy as np
        >>> from stencil import ndimage
        >>> ndimage.gaussian_filter(np.arange(50, step=2).reshape(5, 5), sigma=1).tolist()
        [[4, 6, 8, 9, 11], [10, 12, 14, 15, 17], [20, 22, 24, 25, 27], [29, 31, 33, 34, 36], [35, 37, 39, 40, 42]]
    """
    input, output = _arrays(input, output)
    axes = axes_of(axes, input.ndim)
    count = len(axes)
    each = zip(axes, per_axis(sigma, count), per_axis(order, count), per_axis(mode, count), per_axis(radius, count))
    lines = [
        _gaussian_line(axis, sigma, order, mode, cval, truncate, radius)
        for axis, sigma, order, mode, radius in each
        if sigma > 1e-15
    ]
    return _each_axis(input, output, lines, cval)


def _arrays(input, output, is_complex=False):
    """An array to filter and one to write to; of a GPU's array the second is what was given."""
    device = _device.array_of(input)
    if device:
        return device, output
    input = on_host("the array", input)
    return input, output_of(output, input, is_complex or input.dtype.kind == "c")


def _mean_line(axis, size, origin, mode, cval):
    size = int(size)
    if size < 1:
        raise RuntimeError("incorrect filter size")
    if not 0 <= size // 2 + origin < size:
        raise ValueError("invalid origin")
    return _compute.Line(axis, np.ones(size), -(size // 2) - origin, mode_of(mode), cval, float(size))


def uniform_filter1d(input, size, axis=-1, output=None, mode="reflect", cval=0.0, origin=0):
    """The mean of `size` values along one axis.

    The arguments are those of `help(stencil.ndimage)`. Returns an array of the shape of `input`.

    Raises `RuntimeError` for a size below 1 or an unknown mode, `ValueError` for an origin outside the values.

        >>> from stencil import ndimage
        >>> ndimage.uniform_filter1d([2, 8, 0, 4, 1, 9, 9, 0], size=3).tolist()
        [4, 3, 4, 1, 4, 6, 6, 3]
    """
    input, output = _arrays(input, output)
    line = _mean_line(axis_of(axis, input.ndim), size, origin, mode, cval)
    return _each_axis(input, output, [line], cval)


def uniform_filter(input, size=3, output=None, mode="reflect", cval=0.0, origin=0, *, axes=None):
    """The mean of a box of values, along one axis after the other.

    `size`, `mode` and `origin` are one for all of `axes`, or a sequence. The other arguments are those of `help(stencil.ndimage)`. Returns an array of
    the shape of `input`.

    Raises `RuntimeError` for sequences of another length and unknown modes, `ValueError` for an origin outside the values.

        >>> import numpy as np
        >>> from stencil import ndimage
        >>> ndimage.uniform_filter(np.arange(9.0).reshape(3, 3)).round(3).tolist()
        [[1.333, 2.0, 2.667], [3.333, 4.0, 4.667], [5.333, 6.0, 6.667]]
    """
    input, output = _arrays(input, output)
    axes = axes_of(axes, input.ndim)
    count = len(axes)
    each = zip(axes, per_axis(size, count), per_axis(origin, count), per_axis(mode, count))
    lines = [_mean_line(axis, size, origin, mode, cval) for axis, size, origin, mode in each if size > 1]
    return _each_axis(input, output, lines, cval)


def _derivative(input, axis, output, mode, cval, across):
    input, output = _arrays(input, output)
    axis = axis_of(axis, input.ndim)
    modes = [mode_of(one) for one in per_axis(mode, input.ndim)]
    lines = [_compute.Line(axis, np.array([-1.0, 0.0, 1.0]), -1, modes[axis], cval)]
    others = (other for other in range(input.ndim) if other != axis)
    lines += [_compute.Line(other, np.array(across), -1, modes[other], cval) for other in others]
    return _each_axis(input, output, lines, cval)


def prewitt(input, axis=-1, output=None, mode="reflect", cval=0.0):
    """Prewitt's filter: differences along one axis, sums of three along the others.

    `mode` is one for all axes or a sequence. The other arguments are those of `help(stencil.ndimage)`. Returns an array of the shape of `input`.

    Raises `RuntimeError` for an unknown mode, `numpy.exceptions.AxisError` for an axis that does not exist.

        >>> import numpy as np
        >>> from stencil import ndimage
        >>> ndimage.prewitt(np.arange(9).reshape(3, 3)).tolist()
        [[3, 6, 3], [3, 6, 3], [3, 6, 3]]
    """
    return _derivative(input, axis, output, mode, cval, [1.0, 1.0, 1.0])


def sobel(input, axis=-1, output=None, mode="reflect", cval=0.0):
    """Sobel's filter: differences along one axis, sums with weights 1, 2, 1 along the others.

    Arguments, result and errors are those of `prewitt`.

        >>> import numpy as np
        >>> from stencil import ndimage
        >>> ndimage.sobel(np.arange(9).reshape(3, 3)).tolist()
        [[4, 8, 4], [4, 8, 4], [4, 8, 4]]
    """
    return _derivative(input, axis, output, mode, cval, [1.0, 2.0, 1.0])


def _square(array):
    np.multiply(array, array, array)


def _root(array):
    np.sqrt(array, array, casting="unsafe")


_CHANGES = {"square": _square, "root": _root, None: lambda array: None}


def _combined(input, function, output, mode, cval, extra_arguments, extra_keywords, axes, changes):
    """What `function` gives along each axis, added up after the first of `changes` changed each; the second changes the sum."""
    extra_keywords = extra_keywords or {}
    device = _device.array_of(input)
    if device:
        axes = axes_of(axes, device.ndim)
        modes = per_axis(mode, len(axes))
        return _device.combined(device, function, output, changes, modes, cval, extra_arguments, extra_keywords, axes)
    begin, end = (_CHANGES[change] for change in changes)
    input = on_host("the array", input)
    output = output_of(output, input, input.dtype.kind == "c")
    axes = axes_of(axes, input.ndim)
    if not axes:
        output[...] = input[...]
        return output
    modes = per_axis(mode, len(axes))
    if np.may_share_memory(input, output):
        input = input.copy()
    function(input, axes[0], output, modes[0], cval, *extra_arguments, **extra_keywords)
    begin(output)
    for axis, mode in zip(axes[1:], modes[1:]):
        part = function(input, axis, output.dtype, mode, cval, *extra_arguments, **extra_keywords)
        begin(part)
        output += part
    end(output)
    return output


def generic_laplace(
    input, derivative2, output=None, mode="reflect", cval=0.0, extra_arguments=(), extra_keywords=None, *, axes=None
):
    """The sum of second derivatives along all axes that a function computes.

    `derivative2(input, axis, output, mode, cval, *extra_arguments, **extra_keywords)` writes one into `output`, or returns it where `output` is a type. The other
    arguments are those of `help(stencil.ndimage)`; `mode` is one for all of `axes` or a sequence. Returns an array of the shape of `input`.

    Raises `RuntimeError` for sequences of another length, `ValueError` for axes that do not exist.

        >>> import numpy as np
        >>> from stencil import ndimage
        >>> def second(input, axis, output, mode, cval):
        ...     return ndimage.correlate1d(input, [1, -2, 1], axis, output, mode, cval)
        >>> ndimage.generic_laplace(np.arange(4.0) ** 2, second).tolist()
        [1.0, 2.0, 2.0, -5.0]
    """
    return _combined(input, derivative2, output, mode, cval, extra_arguments, extra_keywords, axes, (None, None))


def laplace(input, output=None, mode="reflect", cval=0.0, *, axes=None):
    """The sum of second differences along all axes.

    The arguments are those of `help(stencil.ndimage)`; `mode` is one for all of `axes` or a sequence. Returns an array of the shape of `input`.

    Raises what `generic_laplace` raises.

        >>> import numpy as np
        >>> from stencil import ndimage
        >>> ndimage.laplace(np.arange(4.0) ** 2).tolist()
        [1.0, 2.0, 2.0, -5.0]
    """

    device = _device.array_of(input)
    count = len(axes_of(axes, device.ndim)) if device else 0
    if device and count <= 3 and not _arguments.is_sequence(mode) and _device.is_one_sum(device, output, cval):
        axes = axes_of(axes, device.ndim)
        if not axes:
            return _device.lines(device, output, [])
        star = np.zeros((3,) * len(axes))
        for axis in range(len(axes)):
            across = np.expand_dims([1, -2, 1], [other for other in range(len(axes)) if other != axis])
            star[tuple(slice(None) if other == axis else slice(1, 2) for other in range(len(axes)))] += across
        return _correlate(device, star, output, mode, cval, 0, axes, False)

    def second(input, axis, output, mode, cval):
        return correlate1d(input, [1, -2, 1], axis, output, mode, cval)

    return generic_laplace(input, second, output, mode, cval, axes=axes)


def gaussian_laplace(input, sigma, output=None, mode="reflect", cval=0.0, *, axes=None, **kwargs):
    """The sum of second derivatives of a Gaussian along all axes.

    `sigma` is one for all of `axes` or a sequence; `kwargs` are arguments of `gaussian_filter`. The other arguments are those of `help(stencil.ndimage)`. Returns an
    array of the shape of `input`.

    Raises what `gaussian_filter` raises.

        >>> import numpy as np
        >>> from stencil import ndimage
        >>> ndimage.gaussian_laplace(np.arange(5.0) ** 2, 1).round(3).tolist()
        [1.321, 1.702, 1.583, -0.51, -4.098]
    """
    # Arrays of a GPU say so themselves.
    ndim = input.ndim if hasattr(input, "ndim") else np.ndim(input)
    axes = axes_of(axes, ndim)
    sigmas = [0] * ndim
    for axis, one in zip(axes, per_axis(sigma, len(axes))):
        sigmas[axis] = one
    second = _gaussian_derivative(2)
    return generic_laplace(input, second, output, mode, cval, (sigmas,), kwargs, axes=axes)


def _gaussian_derivative(number):
    def derivative(input, axis, output, mode, cval, sigma, **kwargs):
        order = [0] * input.ndim
        order[axis] = number
        return gaussian_filter(input, sigma, order, output, mode, cval, **kwargs)

    return derivative


def generic_gradient_magnitude(
    input, derivative, output=None, mode="reflect", cval=0.0, extra_arguments=(), extra_keywords=None, *, axes=None
):
    """The root of the sum of squares of derivatives along all axes that a function computes.

    `derivative` and the other arguments are those of `generic_laplace`. Returns an array of the shape of `input`.

    Raises what `generic_laplace` raises.

        >>> import numpy as np
        >>> from stencil import ndimage
        >>> ndimage.generic_gradient_magnitude(np.arange(9.0).reshape(3, 3), ndimage.sobel).round(3).tolist()
        [[12.649, 14.422, 12.649], [24.331, 25.298, 24.331], [12.649, 14.422, 12.649]]
    """
    return _combined(input, derivative, output, mode, cval, extra_arguments, extra_keywords, axes, ("square", "root"))


def gaussian_gradient_magnitude(input, sigma, output=None, mode="reflect", cval=0.0, *, axes=None, **kwargs):
    """The root of the sum of squares of first derivatives of a Gaussian along all axes.

    `sigma` and `kwargs` are those of `gaussian_filter`. The other arguments are those of `help(stencil.ndimage)`. Returns an array of the shape of `input`.

    Raises what `gaussian_filter` raises.

        >>> import numpy as np
        >>> from stencil import ndimage
        >>> ndimage.gaussian_gradient_magnitude(np.arange(5.0), 1).round(3).tolist()
        [0.364, 0.849, 0.97, 0.849, 0.364]
    """
    first = _gaussian_derivative(1)
    return generic_gradient_magnitude(input, first, output, mode, cval, (sigma,), kwargs, axes=axes)
