# SPDX-License-Identifier: MIT OR Apache-2.0
"""One of the systems of `problems/` as loops that numba compiles for all cores: reads a request in JSON, then an order a
line.

    run STEPS     prints the seconds of so many steps
    check STEPS   computes so many steps from the start, writes the fields one after the other, prints `done`
"""

import itertools
import json
import sys
import time

import numpy as np
from numba import njit, prange

request = json.loads(sys.stdin.readline())
extents, dtype, dt, spacing = (request[name] for name in ["extents", "dtype", "dt", "spacing"])
number = np.dtype(dtype).type
starts = [np.fromfile(path, dtype=dtype).reshape(extents) for path in request["starts"]]


# Each field has a point more at each side, which stays 0.
def padded(values):
    return np.pad(values, 1)


@njit(parallel=True, fastmath=True)
def yee(hz, ex, ey, dt):
    ny, nx = hz.shape
    for y in prange(1, ny - 1):
        for x in range(1, nx - 1):
            hz[y, x] += dt * ((ex[y + 1, x] - ex[y, x]) - (ey[y, x + 1] - ey[y, x]))
    for y in prange(1, ny - 1):
        for x in range(1, nx - 1):
            ex[y, x] += dt * (hz[y, x] - hz[y - 1, x])
            ey[y, x] -= dt * (hz[y, x] - hz[y, x - 1])


@njit(parallel=True, fastmath=True)
def elastic(vx, vy, txx, tyy, txy, dt):
    ny, nx = vx.shape
    half, quarter = vx.dtype.type(0.5), vx.dtype.type(0.25)
    for y in prange(1, ny - 1):
        for x in range(1, nx - 1):
            vx[y, x] += dt * ((txx[y, x] - txx[y, x - 1]) + (txy[y, x] - txy[y - 1, x]))
            vy[y, x] += dt * ((txy[y, x + 1] - txy[y, x]) + (tyy[y + 1, x] - tyy[y, x]))
    for y in prange(1, ny - 1):
        for x in range(1, nx - 1):
            across, down = vx[y, x + 1] - vx[y, x], vy[y, x] - vy[y - 1, x]
            txx[y, x] += dt * (across + half * down)
            tyy[y, x] += dt * (half * across + down)
            txy[y, x] += dt * quarter * ((vx[y + 1, x] - vx[y, x]) + (vy[y, x] - vy[y, x - 1]))


@njit(parallel=True, fastmath=True)
def gray_scott(u, v, next_u, next_v, dt):
    ny, nx = u.shape
    four, one = u.dtype.type(4), u.dtype.type(1)
    for y in prange(1, ny - 1):
        for x in range(1, nx - 1):
            a, b = u[y, x], v[y, x]
            of_u = u[y - 1, x] + u[y + 1, x] + u[y, x - 1] + u[y, x + 1] - four * a
            of_v = v[y - 1, x] + v[y + 1, x] + v[y, x - 1] + v[y, x + 1] - four * b
            reaction = a * b * b
            next_u[y, x] = a + dt * (u.dtype.type(0.16) * of_u - reaction + u.dtype.type(0.035) * (one - a))
            next_v[y, x] = b + dt * (u.dtype.type(0.08) * of_v + reaction - u.dtype.type(0.1) * b)


# Lattice Boltzmann: the directions (z, y, x), their weights and the relaxation.
C = [(0, 0, 0)]
for distance in (1, 2):
    C += [o for o in itertools.product((-1, 0, 1), repeat=3) if sum(map(abs, o)) == distance]
C = np.array(C)
W = np.array([1 / 3] + [1 / 18] * 6 + [1 / 36] * 12, dtype=dtype)


@njit(parallel=True, fastmath=True)
def lattice_boltzmann(f, after, c, w, omega):
    _, nz, ny, nx = f.shape
    one, three = f.dtype.type(1), f.dtype.type(3)
    a, b = f.dtype.type(1.5), f.dtype.type(4.5)
    for z in prange(nz):
        g = np.empty(19, f.dtype)
        for y in range(ny):
            for x in range(nx):
                rho = uz = uy = ux = f.dtype.type(0)
                for i in range(19):
                    value = f[i, (z - c[i, 0]) % nz, (y - c[i, 1]) % ny, (x - c[i, 2]) % nx]
                    g[i] = value
                    rho += value
                    uz += c[i, 0] * value
                    uy += c[i, 1] * value
                    ux += c[i, 2] * value
                uz, uy, ux = uz / rho, uy / rho, ux / rho
                rest = one - a * (ux * ux + uy * uy + uz * uz)
                for i in range(19):
                    along = c[i, 0] * uz + c[i, 1] * uy + c[i, 2] * ux
                    equal = w[i] * rho * (rest + three * along + b * along * along)
                    after[i, z, y, x] = g[i] + omega * (equal - g[i])


class InPlace:
    """Fields that are updated where they lie."""

    def __init__(self, step):
        self.step, self.fields = step, [padded(values) for values in starts]

    def take(self):
        self.step(*self.fields, number(dt))

    def results(self):
        return [field[1:-1, 1:-1] for field in self.fields]


class GrayScott:
    def __init__(self):
        self.now = [padded(values) for values in starts]
        self.next = [np.zeros_like(values) for values in self.now]

    def take(self):
        gray_scott(*self.now, *self.next, number(dt))
        self.now, self.next = self.next, self.now

    def results(self):
        return [field[1:-1, 1:-1] for field in self.now]


class LatticeBoltzmann:
    def __init__(self):
        self.now = np.stack(starts)
        self.next = np.empty_like(self.now)

    def take(self):
        lattice_boltzmann(self.now, self.next, C, W, number(1 / 0.6))
        self.now, self.next = self.next, self.now

    def results(self):
        return list(self.now)


begin = {
    "yee": lambda: InPlace(yee),
    "elastic": lambda: InPlace(elastic),
    "gray-scott": GrayScott,
    "lattice-boltzmann": LatticeBoltzmann,
}[request["problem"]]
begin().take()
print("ready", flush=True)
for line in sys.stdin:
    order, steps = line.split()
    own = begin()
    before = time.perf_counter()
    for _ in range(int(steps)):
        own.take()
    seconds = time.perf_counter() - before
    if order == "check":
        with open(request["output"], "wb") as file:
            for values in own.results():
                np.ascontiguousarray(values).tofile(file)
        print("done", flush=True)
    else:
        print(seconds, flush=True)
