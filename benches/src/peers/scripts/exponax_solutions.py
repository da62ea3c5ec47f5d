# SPDX-License-Identifier: MIT OR Apache-2.0
"""Solutions of the equations of `exponax/` by exponax, in Fourier space: reads a request in JSON, then an order a line.

    solve N   writes the fields at the end, one after the other, at N points along each axis, prints `done`

The start is that of the finest grid, on which all is computed; N divides its points.
"""

import json
import sys

import jax

jax.config.update("jax_enable_x64", True)

import exponax
import jax.numpy as jnp
import numpy as np

request = json.loads(sys.stdin.readline())
extents, until = request["extents"], request["dt"] * request["steps"]
starts = [np.fromfile(path, dtype=request["dtype"]).reshape(extents) for path in request["starts"]]
steppers = exponax.stepper

# The equation, the length of a period, steps that its solution takes, and what it is given.
EQUATIONS = {
    "burgers-1d": (steppers.Burgers, 2 * np.pi, 400, {"diffusivity": 0.1}),
    "burgers-2d": (steppers.Burgers, 2 * np.pi, 200, {"diffusivity": 0.2}),
    "kuramoto-sivashinsky": (steppers.KuramotoSivashinskyConservative, 16, 400, {}),
    "gray-scott": (
        steppers.reaction.GrayScott,
        0.4,
        800,
        {"diffusivity_1": 2e-5, "diffusivity_2": 1e-5, "feed_rate": 0.04, "kill_rate": 0.06},
    ),
    "swift-hohenberg": (steppers.reaction.SwiftHohenberg, 24, 200, {"reactivity": 0.7, "critical_number": 1.0}),
}
equation, length, steps, parameters = EQUATIONS[request["problem"]]


def solution(steps):
    stepper = equation(len(extents), length, extents[0], until / steps, order=4, **parameters)
    return np.asarray(exponax.repeat(stepper, steps)(jnp.asarray(np.stack(starts))))


fields = solution(steps)
# Half as many steps have up to sixteen times the error.
doubt = np.abs(solution(steps // 2) - fields).max() / np.abs(fields).max()
if not doubt < 1e-7:
    sys.exit(f"with half as many steps exponax's solution differs by {doubt:.1e}")

print("ready", flush=True)
for line in sys.stdin:
    stride = extents[0] // int(line.split()[1])
    coarse = fields[(slice(None),) + (slice(None, None, stride),) * len(extents)]
    np.ascontiguousarray(coarse).tofile(request["output"])
    print("done", flush=True)
