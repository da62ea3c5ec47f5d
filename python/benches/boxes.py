# SPDX-License-Identifier: MIT OR Apache-2.0
"""Times sums over large boxes beside `scipy.signal.oaconvolve`, whose Fourier transforms take blocks as well, and OpenCV.

    python python/benches/boxes.py [--size N] [WORD]

Needs numpy, scipy and opencv-python-headless. Milliseconds by the clock, the shortest of several in turns. Sides are mirrored: for
`oaconvolve` by `numpy.pad`, whose time counts. A corner is compared with `scipy.ndimage.correlate` first. `oaconvolve` computes in the type
of the array; this library transforms in float64.
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
import scipy.signal  # noqa: E402

from stencil import ndimage  # noqa: E402


def by_blocks(u, w):
    padded = np.pad(u, [(it // 2, it // 2) for it in w.shape], "symmetric")
    return scipy.signal.oaconvolve(padded, w[tuple([slice(None, None, -1)] * w.ndim)].astype(u.dtype), "valid")


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--size", type=int, default=4096, help="extent of images; of volumes a sixteenth of it")
    options.add_argument("word", nargs="?", default="")
    options = options.parse_args()
    cv2.setNumThreads(2)
    rng = np.random.default_rng(1)
    image, cube = options.size, options.size // 16
    rows = [((image,) * 2, (extent,) * 2, kind) for extent in (15, 31, 65, 127) for kind in ("f4", "f8")]
    rows += [((cube,) * 3, (extent,) * 3, kind) for extent in (9, 15, 21) for kind in ("f4", "f8")]
    for shape, extents, kind in rows:
        name = f"{' x '.join(map(str, extents))} of {' x '.join(map(str, shape))} {np.dtype(kind).name}"
        if options.word not in name:
            continue
        u, w = rng.random(shape).astype(kind), rng.random(extents)
        w /= w.sum()
        own = {
            "stencil": lambda: ndimage.correlate(u, w),
            "oaconvolve": lambda: by_blocks(u, w),
        }
        if u.ndim == 2:
            own["OpenCV"] = lambda: cv2.filter2D(u, -1, w, borderType=cv2.BORDER_REFLECT)
        reach = max(extents) // 2
        near = scipy.ndimage.correlate(u[(slice(2 * reach + 40),) * u.ndim].astype("f8"), w)
        part = (slice(8),) * u.ndim
        off = {each: np.abs(function()[part] - near[part]).max() for each, function in own.items()}
        best = dict.fromkeys(own, np.inf)
        for _ in range(3):
            for each, function in own.items():
                begin = time.perf_counter()
                function()
                best[each] = min(best[each], time.perf_counter() - begin)
        print(f"{name:42}" + "".join(f"  {each} {best[each] * 1e3:8.1f} ({off[each]:.0e} off)" for each in own), flush=True)


if __name__ == "__main__":
    main()
