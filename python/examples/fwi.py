# SPDX-License-Identifier: MIT OR Apache-2.0
"""Full waveform inversion: a layer and a lens are found from what receivers at the surface recorded of 16 shots.

Acoustic waves in 2D, of second order in time and fourth in space, a sponge at three sides; 128 receivers; the misfit is half the sum of squares
of what records are off by, its gradient is that of `System.gradient`, and L-BFGS of scipy takes the steps. Writes the model before, after
and the true one, one below the other, as a grey picture.

    python fwi.py                        a few minutes on 2 cores
    python fwi.py --engine cuda --scale 2 --iterations 40
"""

import argparse
import struct
import time
import zlib

import numpy as np
import stencil
from scipy.ndimage import gaussian_filter
from scipy.optimize import minimize

SHOTS, RECEIVERS = 16, 128
SLOW, FAST = 1.4, 2.6  # km/s


def models(ny, nx):
    """The true velocities, a layer and a lens in a gradient, and those to begin with."""
    z, x = np.mgrid[0:ny, 0:nx] / ny
    true = 1.6 + 0.5 * z
    true[z > 0.7] = 2.4
    true[((z - 0.42) / 0.12) ** 2 + ((x - 0.5 * nx / ny) / 0.3) ** 2 < 1] = 1.5
    first = np.array(true)
    below = int(0.12 * ny)
    first[below:] = gaussian_filter(true, 0.14 * ny, mode="nearest")[below:]
    return true, first


def shot(velocity, column, steps, h, engine):
    """Waves of one source near the surface."""
    ny, nx = velocity.shape
    dt = 0.45 * h / FAST
    frequency = 1.6 / (12 * h)  # 12 points in the shortest wave of the peak
    places = [[2, float(at)] for at in np.linspace(1, nx - 2, RECEIVERS)]
    return stencil.System(
        {
            "grid": {"size": [ny, nx], "spacing": h, "dtype": "f32"},
            "time": {"dt": dt},
            "stencils": {"laplace": {"derivative": "laplace", "order": 4}},
            "fields": {"p": {"start": 0, "next": "2*p - prev(p) + (c*dt)^2*laplace(p)"}},
            "sources": [{"field": "p", "at": [2, column], "add": f"dt^2*1000*ricker({frequency}, t - {1.2 / frequency})"}],
            "receivers": [{"field": "p", "at": place} for place in places],
            "sponge": {"width": 12, "strength": 0.02, "sides": ["x-", "x+", "y+"]},
        },
        coefficients={"c": velocity.astype(np.float32)},
        engine=engine,
    )


def picture(path, models):
    """Models one below the other, slow ones dark, as a grey .png file."""
    line = np.full((3, models[0].shape[1]), FAST)
    rows = np.concatenate([part for model in models for part in (model, line)][:-1])
    grey = np.clip(255 * (rows - SLOW) / (FAST - SLOW), 0, 255).astype(np.uint8).repeat(3, 0).repeat(3, 1)

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", grey.shape[1], grey.shape[0], 8, 0, 0, 0, 0)
    lines = b"".join(b"\0" + row.tobytes() for row in grey)
    with open(path, "wb") as file:
        file.write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(lines)) + chunk(b"IEND", b""))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--scale", type=float, default=1, help="points along each axis, times those of 50 x 100")
    parser.add_argument("--iterations", type=int, default=20)
    parser.add_argument("--engine", default="auto")
    parser.add_argument("--output", default="fwi.png")
    args = parser.parse_args()

    ny, nx = round(50 * args.scale), round(100 * args.scale)
    h, steps = 1 / ny, round(6.5 * ny)
    true, first = models(ny, nx)
    columns = np.linspace(3, nx - 4, SHOTS).round().astype(int).tolist()
    begun = time.perf_counter()
    measured = []
    for column in columns:
        one = shot(true, column, steps, h, args.engine)
        one.step(steps)
        measured.append(one.records()[:, 1:])
    looks = []

    def misfit(values):
        velocity = values.reshape(ny, nx)
        total, gradient = 0.0, np.zeros((ny, nx))
        for column, records in zip(columns, measured):

            def cotangents(fields, own):
                nonlocal total
                off = own[:, 1:] - records
                total += 0.5 * np.sum(off**2)
                return {}, off

            found = shot(velocity, column, steps, h, args.engine).gradient(steps, cotangents, coefficients=["c"])
            gradient += found.coefficients["c"]
        # The water above the layer that receivers lie in is known.
        gradient[: int(0.12 * ny)] = 0
        looks.append(total)
        print(f"{len(looks):3d}  misfit {total / looks[0]:.5f}  {time.perf_counter() - begun:.1f} s", flush=True)
        scale = 1 / looks[0]
        return total * scale, gradient.ravel() * scale

    bounds = [(SLOW, FAST)] * (ny * nx)
    options = {"maxiter": args.iterations, "maxfun": 2 * args.iterations}
    best = minimize(misfit, first.ravel(), jac=True, method="L-BFGS-B", bounds=bounds, options=options)
    found = best.x.reshape(ny, nx)
    error = [np.sqrt(np.mean((model - true) ** 2)) for model in (first, found)]
    print(f"velocities are off by {error[0]:.4f} km/s before and {error[1]:.4f} after (root of the mean square)")
    picture(args.output, [first, found, true])
    print(args.output)


if __name__ == "__main__":
    main()
