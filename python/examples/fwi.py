# SPDX-License-Identifier: MIT OR Apache-2.0
"""Full waveform inversion: a layer and a lens are found from what receivers recorded of 16 shots.

Acoustic waves in 2D, of second order in time and fourth in space, with a perfectly matched layer beside and below the model. The shots are at
the surface; of 128 receivers half are there, and a quarter down a borehole at each side. The misfit is half the sum of squares of what records are
off by. Its gradient is that of `System.gradient`, of all shots by one system, and L-BFGS of scipy takes the steps: first of long waves, then
of shorter ones. What it seeks is a model whose mean with Gaussian weights (`stencil.ndimage`) is the velocity, which so has no finer
detail than waves can tell. Writes the model before, after and the true one, one below the other, as a grey picture.

    python fwi.py                        a few minutes on 2 cores
    python fwi.py --engine cuda --scale 2
"""

import argparse
import struct
import time
import zlib

import numpy as np
import stencil
from scipy.optimize import minimize
from stencil.ndimage import gaussian_filter

SHOTS, RECEIVERS = 16, 128
SLOW, FAST = 1.4, 2.6  # km/s
LAYER = 10  # points of the layers that absorb, beside and below the model
STAGES = [(20, 1.5), (10, 0.75)]  # points of the shortest wave of a pulse's peak in the slowest rock, and of the mean's weights


def models(ny, nx):
    """The true velocities, a layer and a lens in a gradient, and those to begin with."""
    z, x = np.mgrid[0:ny, 0:nx] / ny
    true = 1.6 + 0.5 * z
    true[z > 0.7] = 2.4
    true[((z - 0.42) / 0.12) ** 2 + ((x - 0.5 * nx / ny) / 0.3) ** 2 < 1] = 1.5
    first = np.array(true)
    below = water(ny)
    first[below:] = gaussian_filter(true, 0.14 * ny, mode="nearest")[below:]
    return true, first


def water(ny):
    """The known rows at the surface."""
    return int(0.12 * ny)


class Survey:
    """Waves of shots in a model, with pulses of one length."""

    def __init__(self, shape, wave, engine):
        self.ny, self.nx = shape
        self.engine, self.h = engine, 1 / self.ny
        self.dt = 0.45 * self.h / FAST
        frequency = SLOW / (wave * self.h)
        self.steps = round((1.4 * (1 + self.nx / self.ny) / 2 / SLOW + 2 / frequency) / self.dt)
        time = self.dt * np.arange(self.steps) - 1.2 / frequency
        part = (np.pi * frequency * time) ** 2
        pulse = 1000 * self.dt**2 * (1 - 2 * part) * np.exp(-part)
        # In each shot one of the sources is not silent.
        self.shots = np.eye(SHOTS)[:, :, None] * pulse

    def system(self, velocity):
        rows, columns = np.linspace(2, self.ny - 3, RECEIVERS // 4), np.linspace(2, self.nx - 3, RECEIVERS // 2)
        receivers = [[2, column] for column in columns] + [[row, side] for side in (2, self.nx - 3) for row in rows]
        sources = [[2, column] for column in np.linspace(4, self.nx - 5, SHOTS).round()]
        there = lambda field, places: [{"field": field, "at": [row, LAYER + column]} for row, column in places]  # noqa: E731
        return stencil.System(
            {
                "grid": {"size": [self.ny + LAYER, self.nx + 2 * LAYER], "spacing": self.h, "dtype": "f32"},
                "time": {"dt": self.dt},
                "stencils": {"laplace": {"derivative": "laplace", "order": 4}},
                "fields": {"p": {"start": 0, "next": "2*p - prev(p) + (c*dt)^2*laplace(p)"}},
                "sources": there("p", sources),
                "receivers": there("p", receivers),
                "pml": {"width": LAYER, "speed": FAST, "sides": ["x-", "x+", "y+"]},
            },
            coefficients={"c": np.pad(velocity, ((0, LAYER), (LAYER, LAYER)), mode="edge").astype(np.float32)},
            sources=self.shots[0],
            engine=self.engine,
        )

    def records(self, velocity):
        """What the receivers record of each shot."""
        system = self.system(velocity)
        return [system.records()[1:, 1:] for _ in system.shots(self.steps, self.shots)]

    def misfit(self, velocity, measured):
        """Half the sum of squares of what records are off by, and its derivative by the velocities."""
        misfits = np.zeros(len(self.shots))

        def cotangents(fields, records, shot):
            off = records[1:, 1:] - measured[shot]
            misfits[shot] = 0.5 * np.sum(off**2)
            return {}, off

        found = self.system(velocity).gradient(self.steps, cotangents, coefficients=["c"], shots=self.shots)
        # Velocities in the layers are those of the edge.
        by = found.coefficients["c"].astype(np.float64)
        inner = np.array(by[:, LAYER:-LAYER])
        inner[:, 0] += by[:, :LAYER].sum(1)
        inner[:, -1] += by[:, -LAYER:].sum(1)
        inner[self.ny - 1] += inner[self.ny :].sum(0)
        return misfits.sum(), inner[: self.ny]


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
    parser.add_argument("--iterations", type=int, default=12, help="of each of the two lengths of waves")
    parser.add_argument("--engine", default="auto")
    parser.add_argument("--output", default="fwi.png")
    args = parser.parse_args()

    ny, nx = round(50 * args.scale), round(100 * args.scale)
    true, first = models(ny, nx)
    below, begun = water(ny), time.perf_counter()

    def smooth(values, sigma):
        """The mean of what is not known; also the transposed of that, for mirrors are symmetric."""
        found = np.array(values)
        found[below:] = gaussian_filter(values[below:], sigma)
        return found

    sought = first
    for wave, sigma in STAGES:
        survey = Survey((ny, nx), wave, args.engine)
        measured = survey.records(true)
        looks = []

        def misfit(values, survey=survey, measured=measured, sigma=sigma, looks=looks):
            total, by = survey.misfit(smooth(values.reshape(ny, nx), sigma), measured)
            by = smooth(by, sigma)
            by[:below] = 0
            looks.append(total)
            print(f"{len(looks):3d}  misfit {total / looks[0]:.5f}  {time.perf_counter() - begun:.1f} s", flush=True)
            return total / looks[0], by.ravel() / looks[0]

        print(f"waves of {wave} points, {survey.steps} steps")
        bounds = [(SLOW, FAST)] * (ny * nx)
        options = {"maxiter": args.iterations, "maxfun": 2 * args.iterations}
        best = minimize(misfit, sought.ravel(), jac=True, method="L-BFGS-B", bounds=bounds, options=options)
        sought = best.x.reshape(ny, nx)
    found = smooth(sought, STAGES[-1][1])
    error = [np.sqrt(np.mean((model - true) ** 2)) for model in (first, found)]
    print(f"velocities are off by {error[0]:.4f} km/s before and {error[1]:.4f} after (root of the mean square)")
    picture(args.output, [first, found, true])
    print(args.output)


if __name__ == "__main__":
    main()
