# SPDX-License-Identifier: MIT OR Apache-2.0
"""One of the systems of `problems/` in Devito, as its users write it: reads a request in JSON, then an order a line.

    run STEPS     prints the seconds of so many steps, as Devito's generated code times its loop over time
    check STEPS   computes so many steps from the start, writes the fields one after the other, prints `done`
"""

import json
import sys

import numpy as np
from devito import Eq, Function, Grid, Operator, TimeFunction

request = json.loads(sys.stdin.readline())
extents, dtype, dt, spacing = (request[name] for name in ["extents", "dtype", "dt", "spacing"])
starts = [np.fromfile(path, dtype=dtype).reshape(extents) for path in request["starts"]]
grid = Grid(shape=tuple(extents), extent=tuple(spacing * (n - 1) for n in extents), dtype=np.dtype(dtype).type)


def coordinate(axis):
    """The coordinate of all points along an axis, as an array that is added to others."""
    shape = [1] * len(extents)
    shape[axis] = extents[axis]
    return (spacing * np.arange(extents[axis])).reshape(shape)


def function(name, values, order):
    field = Function(name=name, grid=grid, space_order=order)
    field.data[:] = values
    return field


def wave():
    u = TimeFunction(name="u", grid=grid, time_order=2, space_order=8)
    c = function("c", np.where(coordinate(0) < 0.4 * extents[0] * spacing, 1500, 2500), 0)
    return [u], [Eq(u.forward, 2 * u - u.backward + c**2 * dt**2 * u.laplace)]


def gray_scott():
    u, v = (TimeFunction(name=name, grid=grid, space_order=2) for name in "uv")
    reaction = u * v**2
    return [u, v], [
        Eq(u.forward, u + dt * (0.16 * u.laplace - reaction + 0.035 * (1 - u))),
        Eq(v.forward, v + dt * (0.08 * v.laplace + reaction - 0.1 * v)),
    ]


def heat():
    u = TimeFunction(name="u", grid=grid, space_order=2)
    k = function("k", 1 + 0.5 * np.sin(coordinate(1) / 100) * np.cos(coordinate(0) / 70), 0)
    return [u], [Eq(u.forward, u + dt * k * u.laplace)]


def elastic():
    # Differences between neighbours, as on staggered grids: the fields of `problems/elastic.toml`, place by place.
    names = ["vx", "vy", "txx", "tyy", "txy"]
    vx, vy, txx, tyy, txy = fields = [TimeFunction(name=name, grid=grid, space_order=2) for name in names]
    y, x = grid.dimensions
    hy, hx = y.spacing, x.spacing

    def right(f):
        return f.subs(x, x + hx) - f

    def left(f):
        return f - f.subs(x, x - hx)

    def down(f):
        return f.subs(y, y + hy) - f

    def up(f):
        return f - f.subs(y, y - hy)

    new_vx, new_vy = vx.forward, vy.forward
    return fields, [
        Eq(new_vx, vx + dt * (left(txx) + up(txy))),
        Eq(new_vy, vy + dt * (right(txy) + down(tyy))),
        Eq(txx.forward, txx + dt * (right(new_vx) + 0.5 * up(new_vy))),
        Eq(tyy.forward, tyy + dt * (0.5 * right(new_vx) + up(new_vy))),
        Eq(txy.forward, txy + dt * 0.25 * (down(new_vx) + left(new_vy))),
    ]


fields, equations = {"wave-2d": wave, "wave-3d": wave, "gray-scott": gray_scott, "heat": heat, "elastic": elastic}[request["problem"]]()
operator = Operator(equations, opt="advanced", language="openmp")


def start():
    for field, values in zip(fields, starts):
        field.data[:] = values


def run(steps):
    # A field with two earlier levels begins at the second of them.
    first = 1 if fields[0].time_order == 2 else 0
    summary = operator.apply(time_m=first, time_M=first + steps - 1)
    return sum(entry.time for entry in summary.values()), first + steps


start()
print("ready", flush=True)
for line in sys.stdin:
    order, steps = line.split()
    seconds, last = run(int(steps))
    if order == "check":
        with open(request["output"], "wb") as file:
            for field in fields:
                np.ascontiguousarray(field.data[last % (field.time_order + 1)]).tofile(file)
        start()
        print("done", flush=True)
    else:
        print(seconds, flush=True)
        start()
