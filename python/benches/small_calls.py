# SPDX-License-Identifier: MIT OR Apache-2.0
"""What a call of one step costs beside `scipy.ndimage.correlate`: each result is compared, then both are timed in turn.

    pip install WHEEL scipy && python python/benches/small_calls.py

The shortest of many calls is printed, since other programs of a machine only make them longer.
"""

import os
import time

import numpy as np
import stencil
from scipy import ndimage

BOUNDARIES = {"zero": "constant", "symmetric": "reflect", "periodic": "wrap"}


def shortest(calls, seconds=2.0):
    """The shortest time of each of the calls, which take turns."""
    best = [float("inf")] * len(calls)
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        for number, call in enumerate(calls):
            start = time.perf_counter()
            call()
            best[number] = min(best[number], time.perf_counter() - start)
    return best


def row(shape, extents, dtype, boundary):
    random = np.random.default_rng(1)
    u, weights = random.random(shape).astype(dtype), random.random(extents)
    weights = (weights / weights.sum()).astype(dtype)
    own = lambda: stencil.run(weights, u, 1, boundary=boundary, engine="cpu")
    scipy = lambda: ndimage.correlate(u, weights, mode=BOUNDARIES[boundary])
    exact = ndimage.correlate(u.astype("f8"), weights.astype("f8"), mode=BOUNDARIES[boundary])
    tolerance = 8 * np.finfo(dtype).eps
    assert np.abs(own() - exact).max() <= tolerance * np.abs(exact).max(), "the result is wrong"
    ours, theirs = shortest([own, scipy])
    what = f"{'x'.join(map(str, shape))} {np.dtype(dtype).name}, {'x'.join(map(str, extents))}, {boundary}"
    print(f"| {what} | {ours * 1e6:.0f} | {theirs * 1e6:.0f} | {theirs / ours:.1f} |", flush=True)


if __name__ == "__main__":
    print(f"{os.cpu_count()} cores; stencil {stencil.__version__}\n")
    print("| array, weights, sides | stencil µs | scipy µs | times |\n| --- | --- | --- | --- |")
    for boundary in BOUNDARIES:
        row((64, 64), (3, 3), np.float32, boundary)
        row((2048, 2048), (3, 3), np.float32, boundary)
    row((64, 64), (3, 3), np.float64, "zero")
    row((512, 512), (3, 3), np.float32, "zero")
    row((2048, 2048), (15, 15), np.float32, "zero")
    row((1 << 22,), (9,), np.float32, "zero")
    row((160, 160, 160), (3, 3, 3), np.float32, "zero")
