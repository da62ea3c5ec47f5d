# SPDX-License-Identifier: MIT OR Apache-2.0
"""Sums of arrays of any number of axes, folded into the three that the library takes."""

import itertools
import math
from typing import NamedTuple

import numpy as np

from .. import _stencil

# Values along the last axes that belong together: of more, an axis before them has rows of its own.
_TOGETHER = 32
# Values that a sum along an axis reaches over in memory, at most: else that axis has rows of its own.
_REACH = 512


class Line(NamedTuple):
    """A sum along one axis. The first weight lies `first` points from the point that is computed."""

    axis: int
    weights: np.ndarray
    first: int
    mode: str
    cval: float
    divisor: float = 1.0


def _check(dtype):
    if dtype.kind not in "biuf" or dtype.itemsize > 8 or dtype == np.float16:
        known = "whole numbers, bools, float32, float64, complex64 or complex128"
        raise RuntimeError(f"data type {dtype} not supported, as in scipy; convert the array to {known}")


def _plain(array):
    """The array as the library takes it: in C order, of bytes in the order of the machine, bools as bytes."""
    _check(array.dtype)
    array = np.require(array, array.dtype.newbyteorder("="), ["C", "A"])
    return array.view(np.uint8) if array.dtype.kind == "b" else array


def _into(input, output, compute):
    """Has `compute` write into an array as the library takes it, and copies that where it is not the output itself."""
    is_plain = output.flags.c_contiguous and output.flags.aligned and output.dtype.isnative and output.flags.writeable
    _check(input.dtype)
    _check(output.dtype)
    if is_plain and not np.may_share_memory(input, output):
        compute(output.view(np.uint8) if output.dtype.kind == "b" else output)
        return
    result = np.empty(output.shape, output.dtype.newbyteorder("="))
    compute(result.view(np.uint8) if result.dtype.kind == "b" else result)
    output[...] = result


def lines(input, output, given):
    """Sums along one axis after the other; between them values have the type of the output."""
    if input.size == 0:
        return

    def compute(result):
        parts = list(groups(input.shape, in_order(output.dtype.kind, given)))
        now = _plain(input)
        # Results go to and fro between the output and one more array, the last into the output.
        spare = np.empty_like(result) if len(parts) > 1 else None
        for number, group in enumerate(parts):
            to = result if (len(parts) - number) % 2 else spare
            _group(now, to, group)
            now = to

    _into(input, output, compute)


def in_order(kind, given):
    """The sums by their axes, so that neighbouring axes follow one another: where nothing is cut or set between them."""
    is_any = kind == "f" and all(line.mode != "constant" for line in given)
    return sorted(given, key=lambda line: line.axis) if is_any else given


def groups(shape, given):
    """Sums that are computed in one go: along two neighbouring axes whose later ones are few values."""
    at = 0
    while at < len(given):
        pair = given[at : at + 2]
        if len(pair) == 2 and pair[1].axis == pair[0].axis + 1:
            together = math.prod(shape[pair[1].axis + 1 :])
            constants = {line.cval for line in pair if line.mode == "constant"}
            if together <= _TOGETHER and together * len(pair[1].weights) <= _REACH and len(constants) < 2:
                yield pair
                at += 2
                continue
        yield given[at : at + 1]
        at += 1


def _group(input, output, group):
    _stencil.filter(input, output, *folded_lines(input.shape, group))


def folded_lines(shape, group):
    """What the library takes for the extents of an array, what lies outside, and sums along one axis or two that it computes in one go."""
    first, last = group[0].axis, group[-1].axis
    together = math.prod(shape[last + 1 :])
    before = math.prod(shape[:first])
    if len(group) == 2:
        extents, step, places = [1, before, shape[first], shape[last] * together], together, (1, 2)
    elif together >= 64:
        extents, step, places = [1, before, shape[first], together], 1, (1,)
    else:
        extents, step, places = [1, 1, before, shape[first] * together], together, (2,)
    modes, stages = ["nearest"] * 3, []
    for line, place in zip(group, places):
        modes[place] = line.mode
        terms = []
        for number, weight in enumerate(line.weights.tolist(), line.first):
            offset = [0, 0, 0]
            offset[place] = number
            terms.append((offset, weight))
        stages.append((terms, True, line.divisor))
    constants = [line.cval for line in group if line.mode == "constant"]
    return (extents, step), (modes, *(constants[:1] or [0.0])), stages


def box(input, output, weights, first, mode, cval):
    """A sum over a box of any axes; `weights` has as many as the array, `first` the offset of its first weight along each."""
    if input.size == 0:
        return
    active = [axis for axis, extent in enumerate(weights.shape) if extent > 1 or first[axis] != 0]
    written = output.dtype.kind, np.promote_types(input.dtype, output.dtype)
    product = lines_of(input.shape, weights, first, active, (mode, cval), written)
    if product:
        lines(input, output, product)
        return
    _into(input, output, lambda result: _box(input, result, weights, first, active, mode, cval))


def lines_of(shape, weights, first, active, side, written, cost=2):
    """The sums along one axis after the other that a sum over a box of floats is, if its weights are a product; `written` has the
    kind of the output, and the type that sums are computed in; `cost` is what a weight of a line costs by one of a box. None where values between them would be stored."""
    (mode, cval), (kind, dtype) = side, written
    if kind != "f" or mode == "constant" and cval != 0:
        return None
    extents = [weights.shape[axis] for axis in active]
    factors = _factors(weights.reshape(extents), dtype, cost)
    lines = factors and [Line(axis, factor, first[axis], mode, cval) for axis, factor in zip(active, factors)]
    return lines if lines and len(list(groups(shape, lines))) == 1 else None


def _factors(weights, dtype, cost):
    """A vector for each axis, whose product the weights are within the rounding of sums in `dtype`. None, if they are no
    product, or sums along one axis after the other would take as long."""
    if weights.size <= cost * sum(weights.shape) or not np.all(weights) or not np.isfinite(weights).all():
        return None
    top = np.unravel_index(np.abs(weights).argmax(), weights.shape)
    factors, product = [], 1.0
    for axis in range(weights.ndim):
        through = tuple(slice(None) if other == axis else at for other, at in enumerate(top))
        factor = weights[through] / (weights[top] if factors else 1.0)
        factors.append(factor)
        product = np.multiply.outer(product, factor)
    # Sums of values up to 1 are off by no more than this.
    off = np.abs(product - weights).sum()
    return factors if off <= 4 * np.finfo(dtype).eps * np.abs(weights).sum() else None


def _box(input, output, weights, first, active, mode, cval):
    ndim = input.ndim
    if len(active) > 3:
        _many_axes(input, output, weights, first, active, mode, cval)
        return
    folded = folded_box(input.shape, weights, first, active, mode, cval)
    if folded is None:
        # The axes of the sum become the last ones.
        order = [axis for axis in range(ndim) if axis not in active] + active
        back = np.argsort(order)
        turned = np.empty([input.shape[axis] for axis in order], output.dtype)
        _box(
            input.transpose(order),
            turned,
            weights.transpose(order),
            [first[axis] for axis in order],
            list(range(ndim - len(active), ndim)),
            mode,
            cval,
        )
        output[...] = turned.transpose(back)
    elif not folded[-1][0][0]:
        output[...] = 0
    else:
        _stencil.filter(_plain(input), output, *folded)


def folded_box(shape, weights, first, active, mode, cval):
    """What the library takes for the extents of an array, what lies outside, and a sum over at most three active axes; none if
    those axes have to be the last ones."""
    ndim = len(shape)
    slots = [range(active[-1], ndim)] if active else [range(ndim)]
    together = math.prod(shape[active[-1] + 1 :]) if active else 1
    for axis in reversed(active[:-1]):
        if slots[0][0] > axis + 1:
            slots.insert(0, range(axis + 1, slots[0][0]))
        slots.insert(0, range(axis, axis + 1))
    if together > _TOGETHER and len(slots) < 3:
        # The values of the later axes have rows of their own.
        slots[-1:] = [range(active[-1], active[-1] + 1), range(active[-1] + 1, ndim)]
        together = 1
    if len(slots) > 3 or together > _REACH:
        return None
    before = math.prod(shape[: slots[0][0]]) if ndim else 1
    extents = [math.prod(shape[axis] for axis in slot) for slot in slots]
    outer = 1
    if len(slots) == 3:
        outer = before
    else:
        extents = [1] * (2 - len(slots)) + [before] + extents
    # Axes of the sum by the places that they have in the extents.
    places = {slot[0]: 3 - len(slots) + number for number, slot in enumerate(slots) if slot and slot[0] in active}
    at = np.argwhere(weights)
    offsets = np.zeros((len(at), 3), int)
    for axis, place in places.items():
        offsets[:, place] = first[axis] + at[:, axis]
    # Of an array without axes numpy gives a number.
    values = np.atleast_1d(weights[tuple(at.T)]).astype(float)
    terms = list(zip(offsets.tolist(), values.tolist()))
    return ([outer, *extents], together), ([mode] * 3, cval), [(terms, False, 1.0)]


def _many_axes(input, output, weights, first, active, mode, cval):
    """A sum over more than three axes: of sums over three, each of the array as it is seen from elsewhere, in float64."""
    ahead, inner = active[:-3], active[-3:]
    total = np.zeros(input.shape)
    part = np.empty(input.shape)
    for at in itertools.product(*(range(weights.shape[axis]) for axis in ahead)):
        source, chosen = input.astype(np.float64), [slice(None)] * input.ndim
        for axis, number in zip(ahead, at):
            source = _moved(source, axis, first[axis] + number, mode, cval)
            chosen[axis] = slice(number, number + 1)
        near = [0 if axis in ahead else first[axis] for axis in range(input.ndim)]
        _box(source, part, weights[tuple(chosen)], near, inner, mode, cval)
        total += part
    # Along no axis: the library converts as scipy does.
    alone = [([([0, 0, 0], 1.0)], False, 1.0)]
    _stencil.filter(total, output, ([1, 1, 1, total.size], 1), (["nearest"] * 3, 0.0), alone)


def _moved(array, axis, by, mode, cval):
    """The array as it is seen from points so far along an axis."""
    extent = array.shape[axis]
    at = np.arange(by, by + extent)
    if mode == "nearest":
        inside = at.clip(0, extent - 1)
    elif mode == "wrap" or mode == "constant":
        inside = at % extent
    elif mode == "reflect":
        inside = at % (2 * extent)
        inside = np.minimum(inside, 2 * extent - 1 - inside)
    else:
        period = max(2 * (extent - 1), 1)
        inside = at % period
        inside = np.minimum(inside, period - inside) if extent > 1 else at * 0
    moved = array.take(inside, axis)
    if mode == "constant":
        outside = [slice(None)] * array.ndim
        outside[axis] = (at < 0) | (at >= extent)
        moved[tuple(outside)] = cval
    return moved
