# SPDX-License-Identifier: MIT OR Apache-2.0
"""One stencil in Devito, for the command `devito`: reads a job in JSON, then an order a line.

    run STEPS     prints the seconds of so many steps, as Devito's generated code times its loop over time
    check STEPS   computes so many steps from the input, writes the result, prints nothing but `done`
"""

import json
import sys

import numpy as np
from devito import Eq, Grid, Operator, TimeFunction


def main():
    job = json.loads(sys.stdin.readline())
    extents, dtype = job["extents"], np.dtype(job["dtype"])
    values = np.fromfile(job["input"], dtype=dtype).reshape(extents)
    grid = Grid(shape=tuple(extents), dtype=dtype.type)
    # The halo is as wide as the space order, and holds zeros.
    field = TimeFunction(name="u", grid=grid, time_order=1, space_order=job["radius"])
    time = grid.stepping_dim
    terms = [
        dtype.type(weight) * field[(time, *(x + d for x, d in zip(grid.dimensions, offset)))]
        for offset, weight in job["taps"]
    ]
    step = Eq(field[(time + 1, *grid.dimensions)], sum(terms))
    operator = Operator(step, opt="advanced", language="openmp")

    def run(steps):
        summary = operator.apply(time_m=0, time_M=steps - 1)
        return sum(entry.time for entry in summary.values())

    field.data[:] = 0
    field.data[0] = values
    print("ready", flush=True)
    for line in sys.stdin:
        order, steps = line.split()
        if order == "run":
            print(run(int(steps)), flush=True)
            # Values that fade away become too small to be fast.
            field.data[0] = values
        else:
            field.data[0] = values
            run(int(steps))
            np.ascontiguousarray(field.data[int(steps) % 2]).tofile(job["output"])
            field.data[0] = values
            print("done", flush=True)


main()
