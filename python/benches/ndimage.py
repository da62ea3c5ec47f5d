# SPDX-License-Identifier: MIT OR Apache-2.0
"""Times `stencil.ndimage` beside scipy and OpenCV, after a comparison of the results; OpenCV where it has the filter.

    python python/benches/ndimage.py [--quick] [WORD]

Needs numpy, scipy and opencv-python-headless. Each time is the shortest of several, taken in turns: by the clock, and that of the
processor in all threads (cpu), which other programs disturb less. scipy and some filters of OpenCV use one thread. WORD chooses the rows
that have it in their name. OpenCV rounds whole numbers, scipy and this library cut them after each pass: so OpenCV's may be some larger.
"""

import argparse
import pathlib
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "tests"))
import conftest  # noqa: E402, F401  finds the library that cargo built

import cv2  # noqa: E402
import numpy as np  # noqa: E402
import scipy.ndimage  # noqa: E402

from stencil import ndimage  # noqa: E402


def gaussian_of_cv(sigma):
    size = 2 * int(4 * sigma + 0.5) + 1
    return lambda u: cv2.GaussianBlur(u, (size, size), sigma, borderType=cv2.BORDER_REFLECT)


def rows(size, cube):
    rng = np.random.default_rng(1)
    image = rng.random((size, size), np.float32)
    whole = rng.integers(0, 256, (size, size), np.uint8)
    volume = rng.random((cube,) * 3, np.float32)
    colour = rng.random((size // 2, size // 2, 3), np.float32)
    box = rng.random((15, 15))
    box /= box.sum()
    sharp = np.array([[0, -1, 0], [-1, 5, -1], [0, -1, 0]])
    gauss = lambda sigma, **more: lambda m, u: m.gaussian_filter(u, sigma, **more)
    filter2d = lambda w, depth=-1: lambda u: cv2.filter2D(u, depth, w, borderType=cv2.BORDER_REFLECT)
    mean = lambda size: lambda u: cv2.blur(u, (size, size), borderType=cv2.BORDER_REFLECT)
    product = np.exp(-np.add.outer(np.arange(-7, 8) ** 2, np.arange(-7, 8) ** 2) / 18)
    product /= product.sum()
    return [
        ("correlate 15 x 15, f32", image, lambda m, u: m.correlate(u, box), filter2d(box), 1e-5),
        ("correlate 15 x 15, a product, f32", image, lambda m, u: m.correlate(u, product), filter2d(product), 1e-5),
        ("correlate 3 x 3, f32", image, lambda m, u: m.correlate(u, sharp), filter2d(sharp), 1e-5),
        ("gaussian 2, f32", image, gauss(2), gaussian_of_cv(2), 1e-5),
        ("gaussian 8, f32", image, gauss(8), gaussian_of_cv(8), 1e-5),
        ("uniform 5, f32", image, lambda m, u: m.uniform_filter(u, 5), mean(5), 1e-5),
        ("uniform 65, f32", image, lambda m, u: m.uniform_filter(u, 65), mean(65), 1e-5),
        ("sobel, f32", image, lambda m, u: m.sobel(u), lambda u: cv2.Sobel(u, -1, 1, 0, borderType=cv2.BORDER_REFLECT), 1e-5),
        ("correlate 3 x 3, u8", whole, lambda m, u: m.correlate(u, np.ones((3, 3)) / 16), filter2d(np.ones((3, 3)) / 16), 1),
        ("correlate 15 x 15, u8", whole, lambda m, u: m.correlate(u, box), filter2d(box), 1),
        ("gaussian 2, u8", whole, gauss(2), gaussian_of_cv(2), 2),
        ("gaussian 8, u8", whole, gauss(8), gaussian_of_cv(8), 2),
        ("uniform 5, u8", whole, lambda m, u: m.uniform_filter(u, 5), mean(5), 2),
        ("uniform 65, u8", whole, lambda m, u: m.uniform_filter(u, 65), mean(65), 2),
        ("gaussian 2, f32 colour", colour, gauss(2, axes=(0, 1)), gaussian_of_cv(2), 1e-5),
        ("gaussian 2, f32 volume", volume, gauss(2), None, 1e-5),
        ("correlate 3 x 3 x 3, f32 volume", volume, lambda m, u: m.correlate(u, np.arange(27.0).reshape(3, 3, 3) / 351), None, 1e-5),
        ("laplace, f32 volume", volume, lambda m, u: m.laplace(u), None, 1e-5),
    ]


def shortest(functions, seconds):
    """Milliseconds of each, by the clock and of the processor in all threads, each the least of several."""
    best = {name: np.full(2, np.inf) for name in functions}
    for name, function in functions.items():
        begin, spent = time.perf_counter(), 0
        while spent < seconds:
            start = np.array([time.perf_counter(), time.process_time()])
            function()
            taken = [time.perf_counter(), time.process_time()] - start
            best[name] = np.minimum(best[name], taken * 1e3)
            spent = time.perf_counter() - begin
    return best


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--quick", action="store_true", help="small arrays")
    options.add_argument("word", nargs="?", default="")
    options = options.parse_args()
    cv2.setNumThreads(2)
    size, cube = (1024, 64) if options.quick else (4096, 256)
    print(f"{size} x {size}, colour a quarter, volume {cube} x {cube} x {cube}; milliseconds")
    columns = "".join(f"{name:>9}{'times':>6}{'cpu':>9}{'times':>6}" for name in ("scipy", "OpenCV"))
    print(f"{'':34}{'stencil':>9}{'cpu':>9}{columns}  off by")
    for name, u, filter, of_cv, allowed in rows(size, cube):
        if options.word not in name:
            continue
        found, expected = filter(ndimage, u), filter(scipy.ndimage, u)
        error = np.abs(found.astype(float) - expected).max()
        scale = 1 if u.dtype.kind == "f" else 0
        assert error <= allowed * scale, f"{name}: {error} off scipy"
        functions = {"stencil": lambda: filter(ndimage, u)}
        if of_cv:
            other = np.abs(of_cv(u).astype(float) - expected).max()
            assert other <= (4 if u.dtype.kind == "u" else 1e-4), f"{name}: OpenCV is {other} off scipy"
            functions["cv"] = lambda: of_cv(u)
        turns = [shortest(functions, 0.4) for _ in range(3)]
        best = {key: np.min([turn[key] for turn in turns], axis=0) for key in functions}
        best |= shortest({"scipy": lambda: filter(scipy.ndimage, u)}, 0.5)
        own, text = best["stencil"], ""
        for other in ("scipy", "cv"):
            both = [f"{time:9.1f}{time / mine:6.1f}" for time, mine in zip(best[other], own)] if other in best else [" " * 15] * 2
            text += "".join(both)
        print(f"{name:34}{own[0]:9.1f}{own[1]:9.1f}{text}  {error:.1e}", flush=True)


if __name__ == "__main__":
    main()
