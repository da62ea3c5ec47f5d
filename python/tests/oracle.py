# SPDX-License-Identifier: MIT OR Apache-2.0
"""What results are compared with: plain loops over numpy arrays, in float64."""

import itertools

import numpy as np

MODES = {
    "zero": {"mode": "constant"},
    "periodic": {"mode": "wrap"},
    "reflect": {"mode": "reflect"},
    "symmetric": {"mode": "symmetric"},
    "edge": {"mode": "edge"},
}


def plain(weights, u, steps, boundary="zero"):
    """The stencil as its definition has it."""
    radii = [extent // 2 for extent in weights.shape]
    u = u.astype(np.float64)
    for _ in range(steps):
        padded = np.pad(u, [(r, r) for r in radii], **MODES[boundary])
        u = np.zeros_like(u)
        for at in itertools.product(*map(range, weights.shape)):
            part = tuple(slice(a, a + n) for a, n in zip(at, u.shape))
            u += weights[at] * padded[part]
    return u


def noise(*shape, dtype=np.float64):
    return np.random.default_rng(7).random(shape).astype(dtype)
