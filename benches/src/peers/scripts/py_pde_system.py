# SPDX-License-Identifier: MIT OR Apache-2.0
"""One of the systems of `py_pde/` in py-pde, by its explicit solver: reads a request in JSON, then an order a line.

    run STEPS     prints the seconds of so many steps
    check STEPS   computes so many steps from the start, writes the fields one after the other, prints `done`
"""

import json
import sys
import time

import numpy as np
import pde

request = json.loads(sys.stdin.readline())
extents, dt, spacing = (request[name] for name in ["extents", "dt", "spacing"])
starts = [np.fromfile(path, dtype=request["dtype"]).reshape(extents) for path in request["starts"]]

# Sides that are not periodic have no slope, which is what py-pde takes without a word.
EQUATIONS = {
    "diffusion": (False, lambda: pde.DiffusionPDE(0.5)),
    "allen-cahn": (False, lambda: pde.AllenCahnPDE()),
    "cahn-hilliard": (False, lambda: pde.CahnHilliardPDE()),
    "kpz": (True, lambda: pde.KPZInterfacePDE(nu=0.5, lmbda=1)),
    "kuramoto-sivashinsky": (True, lambda: pde.KuramotoSivashinskyPDE()),
    "swift-hohenberg": (True, lambda: pde.SwiftHohenbergPDE(rate=0.1, kc2=1, delta=1)),
    "wave": (False, lambda: pde.WavePDE(speed=1)),
    "brusselator": (
        False,
        lambda: pde.PDE(
            {
                "u": "laplace(u) + 1 - 4 * u + u**2 * v",
                "v": "0.1 * laplace(v) + 3 * u - u**2 * v",
            }
        ),
    ),
    "schroedinger": (True, lambda: pde.PDE({"psi": "I * laplace(psi)"})),
    "sir": (
        False,
        lambda: pde.PDE(
            {
                "s": "0.1 * laplace(s) - 2 * i * s",
                "i": "0.1 * laplace(i) + 2 * i * s - 0.1 * i",
            }
        ),
    ),
    "korteweg-de-vries": (True, lambda: pde.PDE({"u": "-6 * u * d_dx(u) - laplace(d_dx(u))"})),
}

periodic, equation = EQUATIONS[request["problem"]]
grid = pde.CartesianGrid([[0, extent * spacing] for extent in extents], extents, periodic=periodic)


def start():
    if request["problem"] == "schroedinger":
        return pde.ScalarField(grid, starts[0] + 1j * starts[1], dtype=complex)
    fields = [pde.ScalarField(grid, values) for values in starts]
    return fields[0] if len(fields) == 1 else pde.FieldCollection(fields)


state = start()
stepper = pde.EulerSolver(equation(), backend="numba").make_stepper(state, dt=dt)


def run(steps):
    state = start()
    began = time.perf_counter()
    stepper(state, 0, steps * dt)
    return time.perf_counter() - began, state


# Compiles.
run(1)
print("ready", flush=True)
for line in sys.stdin:
    order, steps = line.split()
    seconds, state = run(int(steps))
    if order == "run":
        print(seconds, flush=True)
    else:
        data = np.asarray(state.data)
        fields = [data.real, data.imag] if np.iscomplexobj(data) else [data]
        np.concatenate([np.ascontiguousarray(field).ravel() for field in fields]).tofile(request["output"])
        print("done", flush=True)
