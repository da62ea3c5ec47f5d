# SPDX-License-Identifier: MIT OR Apache-2.0
"""`stencil.ndimage` beside scipy, by random calls; `NDIMAGE_CASES=10000` makes that many."""

import itertools
import os
import pathlib
import subprocess
import sys

import numpy as np
import pytest

from stencil import ndimage

CASES = int(os.environ.get("NDIMAGE_CASES", "300"))
MODES = ["reflect", "constant", "nearest", "mirror", "wrap", "grid-mirror", "grid-constant", "grid-wrap"]
WHOLE = [np.bool_, np.uint8, np.int8, np.uint16, np.int16, np.uint32, np.int32, np.uint64, np.int64]
EXTENTS = [1, 1, 2, 3, 4, 5, 7, 11, 13, 17, 31, 64, 67]


def pick(rng, values):
    return values[int(rng.integers(len(values)))]


def array(rng, kind=None):
    """An array, its axes in any order in memory."""
    ndim = int(rng.integers(1, 5))
    while True:
        shape = [pick(rng, EXTENTS) for _ in range(ndim)]
        if np.prod(shape) <= 20_000:
            break
    if rng.random() < 0.03:
        shape = [int(rng.integers(300, 1000)) for _ in range(2)]
    kind = kind or np.dtype(pick(rng, [np.float64] * 14 + [np.float32, np.complex128] + WHOLE))
    if kind.kind == "b":
        values = rng.random(shape) < 0.5
    elif kind.kind in "iu":
        top = min(np.iinfo(kind).max, 1 << 20)
        values = rng.integers(-top if kind.kind == "i" else 0, top, shape).astype(kind)
    elif kind.kind == "c":
        values = (rng.standard_normal(shape) + 1j * rng.standard_normal(shape)).astype(kind)
    else:
        values = rng.standard_normal(shape).astype(kind)
    order = rng.permutation(len(shape))
    turned = np.ascontiguousarray(values.transpose(order)).transpose(np.argsort(order))
    return turned if rng.random() < 0.3 else values


def weights(rng, shape):
    kind = rng.random()
    if kind < 0.3:
        return rng.integers(-4, 5, shape).astype(float)
    if kind < 0.5:
        return rng.integers(-8, 9, shape) / 8
    if kind < 0.55:
        return rng.standard_normal(shape) + 1j * rng.standard_normal(shape)
    return rng.standard_normal(shape)


def origin(rng, length):
    return int(rng.integers(-(length // 2), (length - 1) // 2 + 1)) if rng.random() < 0.5 else 0


def some_axes(rng, ndim):
    count = int(rng.integers(1, ndim + 1))
    axes = sorted(rng.permutation(ndim)[:count].tolist())
    return [axis - ndim if rng.random() < 0.3 else axis for axis in axes]


def call(rng):
    """A name, its arguments, and how far a result may be off in units of rounding of its largest sum."""
    u = array(rng)
    axis = int(rng.integers(-u.ndim, u.ndim))
    axes = some_axes(rng, u.ndim)
    modes = pick(rng, MODES) if rng.random() < 0.5 else [pick(rng, MODES) for _ in axes]
    named = {"mode": pick(rng, MODES), "cval": float(rng.integers(-3, 4)) if rng.random() < 0.7 else rng.standard_normal()}
    each = named | {"mode": modes}
    name = pick(rng, ndimage.__all__)
    if name in ("correlate1d", "convolve1d"):
        length = int(rng.integers(1, 40))
        w = weights(rng, length)
        if length % 2 and rng.random() < 0.5:
            w = w + pick(rng, [1, -1]) * w[::-1]
        return name, (u, w), named | {"axis": axis, "origin": origin(rng, length)}
    if name in ("correlate", "convolve"):
        shape = [int(rng.integers(1, 6 if len(axes) > 1 else 12)) for _ in axes]
        w = weights(rng, shape)
        return name, (u, w), named | {"axes": axes, "origin": [origin(rng, it) for it in shape]}
    if name == "uniform_filter1d":
        size = int(rng.integers(1, 40))
        return name, (u, size), named | {"axis": axis, "origin": origin(rng, size)}
    if name == "uniform_filter":
        sizes = [int(rng.integers(1, 9)) for _ in axes]
        return name, (u, sizes), each | {"axes": axes, "origin": [origin(rng, it) for it in sizes]}
    sigma = float(rng.uniform(0.3, 4))
    reach = {"truncate": float(rng.uniform(1, 5))} if rng.random() < 0.5 else {"radius": int(rng.integers(0, 12))}
    if name == "gaussian_filter1d":
        return name, (u, sigma), named | reach | {"axis": axis, "order": int(rng.integers(0, 4))}
    if name == "gaussian_filter":
        order = [int(rng.integers(0, 3)) for _ in axes]
        return name, (u, sigma), each | reach | {"axes": axes, "order": order}
    if name in ("gaussian_laplace", "gaussian_gradient_magnitude"):
        return name, (u, sigma), named | {"axes": axes} | ({} if rng.random() < 0.5 else reach)
    if name in ("sobel", "prewitt"):
        return name, (u,), named | {"axis": axis}
    if name == "laplace":
        return name, (u,), each | {"axes": axes}
    return name, (u,), {"mode": named["mode"], "cval": named["cval"], "axes": axes, "function": True}


def outcome(module, name, args, kwargs):
    kwargs = dict(kwargs)
    if kwargs.pop("function", False):
        args = (*args, module.sobel if "gradient" in name else lambda u, axis, output, mode, cval: module.correlate1d(u, [1, -2, 1], axis, output, mode, cval))
        if "gradient" in name:
            kwargs["axes"] = None
    try:
        return getattr(module, name)(*args, **kwargs)
    except Exception as error:  # noqa: BLE001  which it is is compared
        return error


def one(scipy, seed):
    rng = np.random.default_rng([33, seed])
    name, args, kwargs = call(rng)
    u = args[0]
    if u.dtype.kind in "ic" or np.any(np.iscomplex(args[-1] if len(args) > 1 else 0)):
        pass
    elif rng.random() < 0.25:
        kwargs["output"] = pick(rng, [np.float64, np.float32, np.int32, np.uint8, np.int16])
    with np.errstate(all="ignore"):
        expected, found = outcome(scipy, name, args, kwargs), outcome(ndimage, name, args, kwargs)
    text = f"seed {seed}: {name}, {u.dtype}{u.shape}, {[np.asarray(it).shape or it for it in args[1:]]}, {kwargs}"
    if isinstance(expected, Exception):
        assert type(found) is type(expected), f"{text}: {expected!r}, not {found!r}"
        return "error"
    assert not isinstance(found, Exception), f"{text}: {found!r}"
    assert (found.dtype, found.shape) == (expected.dtype, expected.shape), text
    if expected.dtype.kind in "biu":
        # An f64 beyond its type has no value in C: what compilers make of it differs.
        if u.dtype.kind == "f" or fits(scipy, name, args, kwargs, expected.dtype):
            view = np.uint8 if expected.dtype.kind == "b" else expected.dtype
            off = found.view(view) != expected.view(view)
            if "uniform" in name and (u.dtype.kind == "f" or kwargs["cval"] % 1):
                # scipy carries the rounding of sums of fractions along a line: an integer apart.
                off = np.abs(found.astype(float) - expected.astype(float)) > 1
            assert not off.any(), f"{text}: {np.count_nonzero(off)} of {off.size}"
        return "whole"
    rounding = np.finfo(expected.dtype).eps
    if np.issubdtype(u.dtype, np.floating) and not np.issubdtype(kwargs.get("output", u.dtype), np.floating):
        rounding = np.finfo(u.dtype).eps
    weight = 1.0
    for it in args[1:]:
        if isinstance(it, np.ndarray):
            weight = max(weight, np.abs(it).sum())
    scale = weight * max(np.abs(u.astype(complex)).max(initial=0), abs(kwargs.get("cval", 0)), 1e-300)
    if name in ("laplace", "generic_laplace", "gaussian_laplace", "sobel", "prewitt", "gaussian_gradient_magnitude", "generic_gradient_magnitude"):
        scale *= 4.0 ** u.ndim
    if "order" in kwargs or name.startswith("gaussian"):
        # Derivatives of a Gaussian cut off near 0 have large weights.
        scale *= 40.0 ** np.sum(kwargs.get("order", 2))
    error = np.abs(found.astype(complex) - expected.astype(complex)).max(initial=0)
    root = "magnitude" in name
    allowed = 32 * scale * rounding if not root else scale * np.sqrt(rounding)
    assert error <= allowed, f"{text}: {error} > {allowed}"
    return "float"


def fits(scipy, name, args, kwargs, kind):
    """Whether all that scipy computes fits the type, of 32 bits those that C converts by way of. What is below 0 between the
    passes of a filter is huge as an uint64."""
    if kind == np.uint64 and not name.endswith("1d") and name not in ("correlate", "convolve"):
        return False
    wide = outcome(scipy, name, args, kwargs | {"output": np.float64})
    limit = 2**31 - 1 if kind.itemsize <= 4 else 2**62
    return not isinstance(wide, Exception) and np.abs(wide).max(initial=0) < limit and "magnitude" not in name


def test_random_calls_are_those_of_scipy():
    scipy = pytest.importorskip("scipy.ndimage")
    kinds = [one(scipy, seed) for seed in range(CASES)]
    assert kinds.count("error") < 0.1 * CASES and kinds.count("whole") > 0.2 * CASES and kinds.count("float") > 0.4 * CASES
    print({kind: kinds.count(kind) for kind in set(kinds)})


@pytest.mark.parametrize("case", range(max(12, CASES // 100)))
def test_large_boxes_are_off_by_no_more_than_sums_term_by_term(case):
    """Those that Fourier transforms compute. The bound is that of sums in any order, point by point."""
    scipy = pytest.importorskip("scipy.ndimage")
    rng = np.random.default_rng([87, case])
    if case % 3 == 2:
        u, w = rng.standard_normal(rng.integers(40, 60, 3)), rng.standard_normal(rng.integers(14, 19, 3))
    else:
        u, w = rng.standard_normal(rng.integers(200, 400, 2)), rng.standard_normal(rng.integers(35, 60, 2))
    w *= 10.0 ** rng.integers(-8, 1, w.shape) if rng.random() < 0.3 else 1
    kind = case % 7
    if kind == 1:
        u += 10
    elif kind == 2:
        u.flat[rng.integers(u.size)] = 1e15
    elif kind == 3:
        u[rng.random(u.shape) < 0.999] = 0
    elif kind == 4:
        u.flat[rng.integers(u.size)] = rng.choice([np.nan, np.inf])
    elif kind == 5:
        u[: len(u) // 2] *= 1e-12
    mode, name = MODES[case % len(MODES)], pick(rng, ["correlate", "convolve"])
    more = {"mode": mode, "cval": 0.75, "origin": [origin(rng, it) for it in w.shape]}
    expected = getattr(scipy, name)(u, w, **more)
    terms = getattr(scipy, name)(np.abs(u), np.abs(w), **more)
    for dtype in (np.float64, np.float32):
        found = getattr(ndimage, name)(u.astype(dtype), w, **more)
        known = np.isfinite(expected)
        # Where there are infinities, their signs, too.
        np.testing.assert_array_equal(found[~known], expected[~known])
        rounding = w.size * np.finfo(dtype).eps
        np.testing.assert_array_less(np.abs(found - expected)[known], (rounding * terms)[known] + 1e-300)
        if kind == 3:
            np.testing.assert_array_equal(found == 0, terms == 0)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", ["correlate", "convolve"])
def test_arrays_without_axes_are_filtered(name, mode):
    scipy = pytest.importorskip("scipy.ndimage")
    for dtype in ("f8", "f4", "i2"):
        for weight in (2.5, 0.0):
            u, w = np.array(3, dtype), np.array(weight)
            expected = getattr(scipy, name)(u, w, mode=mode)
            found = getattr(ndimage, name)(u, w, mode=mode)
            assert found.dtype == expected.dtype and found.shape == ()
            np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("mode", MODES)
def test_sums_that_reach_beyond_the_array_many_times_over(mode):
    scipy = pytest.importorskip("scipy.ndimage")
    for extent in (1, 2, 3):
        u = np.arange(1.0, extent + 1)
        for length in (31, 64):
            w = np.random.default_rng(length).standard_normal(length)
            found, expected = (module.correlate1d(u, w, mode=mode, cval=2.5) for module in (ndimage, scipy))
            np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("kind", [np.uint8, np.int16, np.uint16, np.int32])
def test_gaussians_of_flat_images_have_the_integers_of_scipy(kind):
    """Each value is next to a whole number: the last bit of the sum decides."""
    scipy = pytest.importorskip("scipy.ndimage")
    for value in (1, 7, 100, 127):
        u = np.full((100, 133), value, kind)
        for sigma in (0.7, 1, 2, 3.3):
            np.testing.assert_array_equal(ndimage.gaussian_filter(u, sigma), scipy.gaussian_filter(u, sigma))


@pytest.mark.parametrize("kind", [np.uint8, np.int8, np.uint16, np.int16, np.uint32, np.int32])
def test_whole_numbers_of_large_images_are_those_of_scipy(kind):
    """Noise, slopes, flat parts and edges, in sums that are computed in any order where that does not decide."""
    scipy = pytest.importorskip("scipy.ndimage")
    rng = np.random.default_rng(5)
    top = min(np.iinfo(kind).max, 1 << 20)
    noise = rng.integers(0, top, (180, 700))
    slope = np.add.outer(np.arange(180), np.arange(700)) % (top + 1)
    flat = np.where(rng.random((180, 700)) < 0.001, top, top // 3)
    u = np.concatenate([noise, slope, flat, flat * 0 + top]).astype(kind)
    box = rng.random((15, 15))
    calls = [
        ("correlate", {"weights": box / box.sum()}),
        ("convolve", {"weights": (box[:5, :4] - 0.4) / 9, "mode": "constant", "cval": 3}),
        ("gaussian_filter", {"sigma": 2}),
        ("gaussian_filter", {"sigma": (3, 8), "mode": "wrap"}),
        ("gaussian_filter1d", {"sigma": 2, "order": 1, "axis": 0}),
        ("uniform_filter", {"size": 5}),
        ("uniform_filter", {"size": (64, 31), "mode": "nearest"}),
        ("uniform_filter1d", {"size": 130, "axis": 0, "mode": "constant", "cval": 1}),
    ]
    for name, arguments in calls:
        found, expected = (getattr(module, name)(u, **arguments) for module in (ndimage, scipy))
        assert np.array_equal(found, expected), f"{name}, {arguments}: {np.count_nonzero(found != expected)} are off"


def test_long_means_of_floats():
    scipy = pytest.importorskip("scipy.ndimage")
    u = np.random.default_rng(6).random((300, 900))
    for size in (9, 16, 31, (1, 64), (100, 3), 257):
        for kind, allowed in ((np.float64, 1e-13), (np.float32, 2e-6)):
            found, expected = (module.uniform_filter(u.astype(kind), size, origin=-1 if size == 31 else 0) for module in (ndimage, scipy))
            np.testing.assert_allclose(found, expected, rtol=0, atol=allowed)
    # A large value is gone where the mean no longer reaches it.
    u[0] = 1e20
    assert ndimage.uniform_filter(u.astype(np.float32), 31)[40:].max() < 1


@pytest.mark.parametrize("shape, axes", [((4, 20, 21), (1, 2)), ((20, 21, 4), (0, 1)), ((5, 6, 7), (0, 1, 2)), ((3, 4, 9, 8), (2, 3))])
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_weights_that_are_products_keep_their_size(shape, axes, dtype):
    """Also of axes that are not filtered, and where the values of a sum are far larger than it."""
    scipy = pytest.importorskip("scipy.ndimage")
    rng = np.random.default_rng(6)
    u = (1e4 + rng.random(shape)).astype(dtype)
    for vectors in ([[0.2] * 5] * 3, [[1, 2, 1, 2, 1], [1, 2, 1], [1, -2, 1]]):
        weights = np.ones(())
        for vector in vectors[: len(axes)]:
            weights = np.multiply.outer(weights, vector)
        expected = scipy.correlate(u.astype("f8"), weights, axes=axes)
        most = np.abs(weights).sum() * 1e4 * np.finfo(dtype).eps
        np.testing.assert_allclose(ndimage.correlate(u, weights, axes=axes), expected, rtol=0, atol=8 * most)
        full = weights.reshape([weights.shape[axes.index(axis)] if axis in axes else 1 for axis in range(u.ndim)])
        np.testing.assert_allclose(ndimage.correlate(u, full), expected, rtol=0, atol=8 * most)
    wide = (1e8 + rng.random((12, 13, 14))).astype("f8")
    weights = np.multiply.outer(np.multiply.outer([1, 2, 1], [1, 2, 1]), [1, -2, 1])
    found = ndimage.correlate(wide, weights, output=np.float32)
    np.testing.assert_allclose(found, scipy.correlate(wide, weights), atol=1e-4)


def test_values_that_lie_at_odd_addresses_are_filtered():
    bytes_of = np.zeros(8 * 40 + 1, np.uint8)
    u = bytes_of[1:].view("f8").reshape(5, 8)
    u[...] = np.arange(40.0).reshape(5, 8)
    np.testing.assert_array_equal(ndimage.sobel(u), ndimage.sobel(u.copy()))
    ndimage.sobel(u.copy(), output=u)
    np.testing.assert_array_equal(u, ndimage.sobel(np.arange(40.0).reshape(5, 8)))


def test_weights_that_are_products_are_sums_along_each_axis():
    from stencil.ndimage import _compute

    scipy = pytest.importorskip("scipy.ndimage")
    rng = np.random.default_rng(7)
    steps = np.arange(-8, 9)
    bell = np.exp(-(steps[:, None] ** 2 + steps**2) / 8.0)
    cube = np.einsum("i,j,k->ijk", *(rng.standard_normal(extent) for extent in (5, 6, 7)))
    chain = []
    for w in (bell / bell.sum(), bell.astype(np.float32), cube, bell + 1e-3 * rng.random(bell.shape), np.triu(bell), bell[:3, :3]):
        kinds = [np.dtype(np.float64), np.dtype(np.float32)]
        chain.append([_compute._factors(np.asarray(w, float), kind, 2) is not None for kind in kinds])
        for kind, allowed in zip(kinds, (1e-14, 3e-6)):
            u = rng.standard_normal((40, 50, 60)[: w.ndim]).astype(kind)
            for mode in MODES:
                found, expected = (module.convolve(u, w, mode=mode, cval=1.5 if mode == "constant" else 0, origin=1) for module in (ndimage, scipy))
                np.testing.assert_allclose(found, expected, rtol=0, atol=allowed * np.abs(w).sum())
    assert chain == [[True, True], [False, True], [True, True], [False, False], [False, False], [False, False]]


def test_bands_and_channels():
    scipy = pytest.importorskip("scipy.ndimage")
    u = np.random.default_rng(1).random((700, 900, 3)).astype(np.float32)
    for filter, arguments in (("gaussian_filter", {"sigma": 2, "axes": (0, 1)}), ("uniform_filter", {"size": (4, 5, 1)})):
        found, expected = (getattr(module, filter)(u, **arguments) for module in (ndimage, scipy))
        np.testing.assert_allclose(found, expected, rtol=0, atol=2e-6)
    w = np.random.default_rng(2).standard_normal((4, 5, 1))
    np.testing.assert_allclose(ndimage.correlate(u, w), scipy.correlate(u, w), rtol=0, atol=1e-5)


def test_the_output_may_be_the_input():
    u = np.random.default_rng(3).random((64, 80))
    expected = ndimage.gaussian_filter(u, 2)
    found = ndimage.gaussian_filter(u, 2, output=u)
    assert found is u
    np.testing.assert_array_equal(u, expected)
    half = np.zeros((128, 80))[::2]
    assert ndimage.gaussian_filter(u, 2, output=half) is half


def test_memory_beyond_input_and_output_is_small():
    import tracemalloc

    u = np.zeros((2000, 3000), np.float32)
    tracemalloc.start()
    for filter, arguments, most in (
        ("gaussian_filter", {"sigma": 3}, 1.1),
        ("correlate", {"weights": np.ones((5, 5))}, 1.1),
        ("laplace", {}, 2.1),
        ("gaussian_filter", {"sigma": 3, "axes": 0}, 1.1),
    ):
        tracemalloc.reset_peak()
        before, _ = tracemalloc.get_traced_memory()
        result = getattr(ndimage, filter)(u, **arguments)
        _, peak = tracemalloc.get_traced_memory()
        # The output is one of these.
        assert peak - before < most * u.nbytes, filter
        del result
    tracemalloc.stop()


MEASURE = """
import re, sys
sys.path.insert(0, {tests!r})
import conftest
import numpy as np
from stencil import ndimage

def peak():
    with open("/proc/self/status") as status:
        return int(re.search(r"VmHWM:\\s+(\\d+) kB", status.read())[1]) * 1024

u = np.ones({shape}, np.{kind})
small = u[..., :64, :64].copy()
call = lambda u: ndimage.{call}
# Threads have their blocks from here on.
[call(small) for _ in range(3)]
before = peak()
result = call(u)
print((peak() - before) / u.nbytes)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the peak of a process is in units of Linux")
@pytest.mark.parametrize(
    "call, shape, kind, most",
    [
        # The output, and blocks of some hundred kilobytes.
        ("gaussian_filter(u, 3)", (6000, 6000), "float32", 1),
        ("correlate(u, np.arange(25.0).reshape(5, 5) / 300)", (12000, 12000), "uint8", 1),
        ("uniform_filter(u, 31)", (12000, 12000), "uint8", 1),
        # And one more array between the passes.
        ("gaussian_filter(u, 1)", (330, 330, 330), "float32", 2),
        ("gaussian_filter(u, 2, output=u)", (6000, 6000), "float32", 1),
    ],
)
def test_a_process_holds_an_array_twice_at_most(call, shape, kind, most):
    """Besides input and output, by the largest size that its memory has had."""
    tests = str(pathlib.Path(__file__).parent)
    code = MEASURE.format(tests=tests, shape=shape, kind=kind, call=call)
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300)
    assert found.returncode == 0, found.stderr
    share = float(found.stdout)
    assert 0.9 * most < share < most + 0.15, share


def test_what_is_no_weighted_sum_is_left_to_scipy():
    with pytest.raises(AttributeError, match=r"take scipy\.ndimage\.median_filter"):
        ndimage.median_filter
    with pytest.raises(AttributeError, match="no attribute 'nothing'$"):
        ndimage.nothing


def test_examples_of_the_docstrings():
    import doctest

    result = doctest.testmod(ndimage)
    assert result.attempted > 30 and result.failed == 0


class OnGpu:
    """An array of the host that says it lies on a GPU."""

    def __init__(self, array):
        self.array = np.asarray(array)

    def __dlpack_device__(self):
        return (2, 0)


class Input:
    """What the library makes of such an array."""

    def __init__(self, array, stream):
        assert stream is None
        self.array = array.array
        self.shape, self.dtype = self.array.shape, self.array.dtype.name


class Filter:
    """What the library keeps of a filter."""

    def __init__(self, *folded):
        self.folded = folded


def on_gpu(input, output, dtype, filter):
    """What kernels compute, computed by cores."""
    from stencil import _stencil

    result = np.empty(input.shape, dtype) if output is None else output.array
    _stencil.filter(input.array, result, *filter.folded)
    return OnGpu(result) if output is None else None


@pytest.fixture
def gpu(monkeypatch):
    """Cores in the place of a GPU. Kernels are compared with them by the tests of Rust, and by `gpu_torch.py`."""
    from stencil import _stencil
    from stencil.ndimage import _device

    monkeypatch.setattr(_device, "_KEPT", {})
    monkeypatch.setattr(_stencil, "DeviceFilter", Filter)
    monkeypatch.setattr(_stencil, "DeviceInput", Input)
    monkeypatch.setattr(_stencil, "filter_on_gpu", on_gpu)


@pytest.mark.parametrize(
    "call, words",
    [
        (lambda u: ndimage.correlate(u, np.ones((3, 3)), output=np.empty((4, 4))), "an output that lies on the GPU"),
        (lambda u: ndimage.correlate1d(u, [1j, 1]), "real and imaginary"),
        (lambda u: ndimage.correlate(u, np.ones((3, 3)) * 1j), "real and imaginary"),
        (lambda u: ndimage.laplace(u, mode=["wrap", "nearest"]), "several axes"),
        (lambda u: ndimage.gaussian_laplace(u, 1), "several axes"),
        (lambda u: ndimage.laplace(OnGpu(np.ones((4, 4), int)), mode="constant", cval=0.5), "several axes"),
        (lambda u: ndimage.laplace(u, output=np.int32), "several axes"),
    ],
)
def test_what_is_refused_of_arrays_of_a_gpu_says_what_to_do(gpu, call, words):
    with pytest.raises(TypeError, match=words):
        call(OnGpu(np.ones((4, 4))))


def test_outputs_of_another_shape_are_refused_of_arrays_of_a_gpu(gpu):
    with pytest.raises(RuntimeError, match="shape"):
        ndimage.sobel(OnGpu(np.ones((4, 4))), output=OnGpu(np.ones((4, 5))))


def test_arrays_of_a_gpu_of_one_value_or_no_axes_are_filtered(gpu):
    for u in (np.array(5.0), np.array([5.0]), np.ones((1, 1, 1))):
        for call in (lambda u: ndimage.gaussian_filter(u, 2), ndimage.laplace, lambda u: ndimage.uniform_filter(u, 3)):
            np.testing.assert_allclose(call(OnGpu(u)).array, call(u))


@pytest.mark.parametrize("dtype", ["f8", "f4", "u1", "i2"])
def test_sums_of_arrays_of_a_gpu_are_those_of_the_filter(gpu, dtype):
    """Weights, places and sides are those that arrays of the host have."""
    rng = np.random.default_rng(4)
    u = (rng.random((13, 11, 3)) * 99).astype(dtype)
    calls = [
        ("correlate", {"weights": rng.random((4, 3)), "origin": (1, 0), "axes": (0, 1)}),
        ("convolve", {"weights": rng.random((4, 3, 2)), "origin": (0, -1, 0)}),
        ("gaussian_filter", {"sigma": (1, 2), "axes": (0, 1)}),
        ("gaussian_filter", {"sigma": 1.5, "axes": 0, "order": 1}),
        ("gaussian_filter", {"sigma": 0}),
        ("uniform_filter", {"size": (4, 5, 1), "origin": (-1, 1, 0)}),
        ("sobel", {"axis": 0}),
        ("laplace", {}),
        ("laplace", {"axes": (0, 1)}),
        ("convolve1d", {"weights": [1, 2, 3, 4], "axis": 0}),
        ("correlate1d", {"weights": rng.random(6), "output": np.float32}),
    ]
    for (name, arguments), mode in itertools.product(calls, MODES):
        arguments = {"cval": 2 if name == "laplace" else 1.5, "mode": mode} | arguments
        expected = getattr(ndimage, name)(u, **arguments)
        found = getattr(ndimage, name)(OnGpu(u), **arguments)
        assert found.array.dtype == expected.dtype
        np.testing.assert_allclose(found.array, expected, rtol=1e-5, atol=1e-4)
        if "output" not in arguments:
            into = OnGpu(np.empty_like(u))
            assert getattr(ndimage, name)(OnGpu(u), output=into, **arguments) is into
            np.testing.assert_array_equal(into.array, found.array)


def test_types_for_editors_are_those_of_the_functions():
    import ast
    import inspect
    import pathlib

    stub = ast.parse((pathlib.Path(ndimage.__file__).parent / "__init__.pyi").read_text())
    functions = {each.name: each.args for each in stub.body if isinstance(each, ast.FunctionDef)}
    assert sorted(functions) == sorted(ndimage.__all__)
    for name, given in functions.items():
        parameters = inspect.signature(getattr(ndimage, name)).parameters
        assert [each.arg for each in given.args + given.kwonlyargs] == [
            key for key, each in parameters.items() if each.kind != each.VAR_KEYWORD
        ]
        defaults = [ast.literal_eval(each) for each in given.defaults + given.kw_defaults]
        assert defaults == [each.default for each in parameters.values() if each.default is not each.empty], name


def test_signatures_are_those_of_scipy():
    import inspect

    scipy = pytest.importorskip("scipy.ndimage")
    for name in ndimage.__all__:
        own, theirs = (inspect.signature(getattr(module, name)).parameters for module in (ndimage, scipy))
        assert [(key, each.kind, each.default) for key, each in own.items()] == [
            (key, each.kind, each.default) for key, each in theirs.items()
        ], name
