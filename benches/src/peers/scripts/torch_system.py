# SPDX-License-Identifier: MIT OR Apache-2.0
"""One of the systems of `problems/` with torch on a GPU, as its users write it, compiled by `torch.compile` if that works:
reads a request in JSON, then an order a line.

    run STEPS     prints the seconds of so many steps
    check STEPS   computes so many steps from the start, writes the fields one after the other, prints `done`
"""

import json
import sys

import numpy as np
import torch

request = json.loads(sys.stdin.readline())
extents, dtype, dt, spacing = (request[name] for name in ["extents", "dtype", "dt", "spacing"])
starts = [torch.from_numpy(np.fromfile(path, dtype=dtype).reshape(extents)).cuda() for path in request["starts"]]
kind = starts[0].dtype
# Weights of the second derivative of eighth order, from the middle outwards.
EIGHTH = [-205 / 72, 8 / 5, -1 / 5, 8 / 315, -1 / 560]
SECOND = [-2.0, 1.0]


def coordinate(axis):
    shape = [1] * len(extents)
    shape[axis] = extents[axis]
    return (spacing * torch.arange(extents[axis], device="cuda", dtype=torch.float64)).reshape(shape)


def laplace(u, weights):
    """The sum of second derivatives of a field with zeros around."""
    radius = len(weights) - 1
    around = torch.nn.functional.pad(u, (radius, radius) * u.dim())
    inside = [slice(radius, radius + extent) for extent in u.shape]
    total = u.dim() * weights[0] * u
    for axis in range(u.dim()):
        for distance in range(1, radius + 1):
            for shift in (-distance, distance):
                place = list(inside)
                place[axis] = slice(radius + shift, radius + shift + u.shape[axis])
                total = total + weights[distance] * around[tuple(place)]
    return total / spacing**2


def wave():
    c = torch.where(coordinate(0) < 0.4 * extents[0] * spacing, 1500.0, 2500.0)
    factor = ((c * dt) ** 2).to(kind)

    def step(u, before):
        return 2 * u - before + factor * laplace(u, EIGHTH), u

    return [starts[0], starts[0].clone()], step, 1


def gray_scott():
    def step(u, v):
        reaction = u * v * v
        return (
            u + dt * (0.16 * laplace(u, SECOND) - reaction + 0.035 * (1 - u)),
            v + dt * (0.08 * laplace(v, SECOND) + reaction - 0.1 * v),
        )

    return [one.clone() for one in starts], step, 2


def heat():
    k = (1 + 0.5 * torch.sin(coordinate(1) / 100) * torch.cos(coordinate(0) / 70)).to(kind)
    return [starts[0].clone()], lambda u: (u + dt * k * laplace(u, SECOND),), 1


make = {"wave-2d": wave, "wave-3d": wave, "gray-scott": gray_scott, "heat": heat}[request["problem"]]
begin, plain, count = make()
step = plain
try:
    step = torch.compile(plain)
    step(*begin)
except Exception as error:  # noqa: BLE001: whatever keeps it from compiling
    print(f"torch.compile: {error}", file=sys.stderr)
    step = plain
print("ready", flush=True)
for line in sys.stdin:
    order, steps = line.split()
    now = [one.clone() for one in begin]
    torch.cuda.synchronize()
    first, last = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    first.record()
    for _ in range(int(steps)):
        now = step(*now)
    last.record()
    torch.cuda.synchronize()
    if order == "check":
        with open(request["output"], "wb") as file:
            for one in now[:count]:
                one.cpu().numpy().tofile(file)
        print("done", flush=True)
    else:
        print(first.elapsed_time(last) / 1000, flush=True)
