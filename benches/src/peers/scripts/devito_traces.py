# SPDX-License-Identifier: MIT OR Apache-2.0
"""Traces of the waves of `devito/` by Devito, as its tutorials write them: reads a request in JSON, then an order a line.

    solve N   writes the traces, one quantity after the other, of each the values of all receivers at the start and after
              each step, prints `done`

Devito writes weights of stencils with nine digits; with "digits" in the request they have as many.
"""

import json
import sys

import devito.finite_differences.finite_difference as differences
import numpy as np
from devito import (
    Eq,
    Function,
    Grid,
    Operator,
    SpaceDimension,
    SparseTimeFunction,
    TensorTimeFunction,
    TimeFunction,
    VectorTimeFunction,
    diag,
    div,
    grad,
    solve,
)
from devito.operations.interpolators import SincInterpolator

request = json.loads(sys.stdin.readline())
extents, dt, steps, spacing = (request[name] for name in ["extents", "dt", "steps", "spacing"])
differences._PRECISION = request["digits"]

y, x = (SpaceDimension(name=name) for name in "yx")
grid = Grid(
    shape=tuple(extents),
    extent=tuple(spacing * (n - 1) for n in extents),
    dimensions=(y, x),
    dtype=np.float64,
)
step = grid.stepping_dim.spacing

sparse = {}
if request["problem"] == "acoustic-sinc":
    # The window of eight points along each axis that systems here have (Hicks, "Arbitrary source and receiver positioning in
    # finite-difference schemes using Kaiser windowed sinc functions" (2002)); that of Devito's table is another one, 4.14.
    SincInterpolator._b_table[4] = 6.31
    sparse = {"interpolation": "sinc", "r": 4}

places = np.loadtxt(request["places"], delimiter=",")
source = SparseTimeFunction(
    name="source", grid=grid, npoint=1, nt=steps + 1, coordinates=np.array([[203.7, 601.3]]), **sparse
)
phase = (np.pi * 10 * (np.arange(steps + 1) * dt - 0.1)) ** 2
source.data[:, 0] = (1 - 2 * phase) * np.exp(-phase)


def receivers(name):
    return SparseTimeFunction(
        name=name, grid=grid, npoint=len(places), nt=steps + 1, coordinates=places, **sparse
    )


def layers(name, upper, lower):
    """A parameter of two layers, which go on beyond the grid."""
    field = Function(name=name, grid=grid, space_order=8)
    # Its halo has eight points at each side.
    rows = np.arange(extents[0] + 16) - 8
    field.data_with_halo[:] = np.where(rows * spacing < 500, upper, lower)[:, None]
    return field


def acoustic(upper, lower):
    u = TimeFunction(name="u", grid=grid, time_order=2, space_order=8)
    m = 1 / layers("c", upper, lower) ** 2
    record = receivers("record")
    return [record], [
        Eq(u.forward, solve(m * u.dt2 - u.laplace, u.forward)),
        source.inject(field=u.forward, expr=source * step**2 / m),
        record.interpolate(expr=u),
    ]


def elastic():
    v = VectorTimeFunction(name="v", grid=grid, time_order=1, space_order=8)
    tau = TensorTimeFunction(name="t", grid=grid, time_order=1, space_order=8)
    lam, mu, b = layers("lam", 2e6, 5e6), layers("mu", 1e6, 2e6), layers("b", 1, 0.8)
    strain = grad(v.forward) + grad(v.forward).transpose(inner=False)
    records = [receivers(name) for name in ["of_tyy", "of_vx", "of_vy"]]
    return records, [
        Eq(v.forward, solve(v.dt - b * div(tau), v.forward)),
        Eq(tau.forward, solve(tau.dt - lam * diag(div(v.forward)) - mu * strain, tau.forward)),
        source.inject(field=tau.forward[0, 0], expr=source * step),
        source.inject(field=tau.forward[1, 1], expr=source * step),
        records[0].interpolate(expr=tau[0, 0]),
        records[1].interpolate(expr=v[1]),
        records[2].interpolate(expr=v[0]),
    ]


PROBLEMS = {
    "acoustic": lambda: acoustic(1500, 1500),
    "acoustic-layers": lambda: acoustic(1500, 2500),
    "acoustic-sinc": lambda: acoustic(1500, 2500),
    "elastic": elastic,
}
records, equations = PROBLEMS[request["problem"]]()
Operator(equations).apply(time_m=0, time_M=steps, dt=dt)

print("ready", flush=True)
for line in sys.stdin:
    np.stack([np.array(record.data) for record in records]).tofile(request["output"])
    print("done", flush=True)
