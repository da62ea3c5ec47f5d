# SPDX-License-Identifier: MIT OR Apache-2.0
"""What steps of `Simulation` and `System` take beside the same equations in numpy, and what looks at them and changes cost.

    pip install WHEEL && python python/benches/objects.py

Results are compared before they are timed. The shortest of several is printed, since other programs of a machine only make them
longer.
"""

import os
import pickle
import tempfile
import time

import numpy as np
import stencil

F4 = np.float32


def shortest(call, seconds=3.0, least=3):
    best, end, count = float("inf"), time.perf_counter() + seconds, 0
    while count < least or time.perf_counter() < end:
        start = time.perf_counter()
        call()
        best, count = min(best, time.perf_counter() - start), count + 1
    return best


def laplace(u, out):
    """Of a grid that is periodic, as slices of numpy compute it fastest."""
    out[1:-1] = u[2:] + u[:-2]
    out[0], out[-1] = u[1] + u[-1], u[0] + u[-2]
    out[:, 1:-1] += u[:, 2:] + u[:, :-2]
    out[:, 0] += u[:, 1] + u[:, -1]
    out[:, -1] += u[:, 0] + u[:, -2]
    out -= 4 * u
    return out


def heat(n):
    u = np.random.default_rng(1).random((n, n), F4)
    space = np.empty_like(u)
    weights = np.array([[0, 0.1, 0], [0.1, 0.6, 0.1], [0, 0.1, 0]])
    own = stencil.Simulation(weights, u, boundary="periodic", engine="cpu")

    def by_numpy(u, steps):
        for _ in range(steps):
            u = u + F4(0.1) * laplace(u, space)
        return u

    own.step(10)
    assert np.abs(own.field() - by_numpy(u, 10)).max() < 1e-5
    return own, lambda steps: by_numpy(u, steps), own.step


def waves(n):
    random = np.random.default_rng(1)
    u, c = random.random((n, n), F4), random.random((n, n), F4) * F4(0.5)
    space, squared = np.empty_like(u), c * c
    own = stencil.System({
        "grid": {"dtype": "f32"},
        "stencils": {"laplace": {"derivative": "laplace", "order": 2}},
        "coefficients": {"c": c},
        "fields": {"p": {"start": u, "boundary": "periodic", "next": "2*p - prev(p) + c^2*laplace(p)"}},
    }, engine="cpu")  # fmt: skip

    def by_numpy(u, steps):
        now, before = u, u
        for _ in range(steps):
            now, before = 2 * now - before + squared * laplace(now, space), now
        return now

    own.step(10)
    assert np.abs(own.field() - by_numpy(u, 10)).max() < 1e-4
    return own, lambda steps: by_numpy(u, steps), own.step


def spots(n):
    random = np.random.default_rng(1)
    u, v = random.random((2, n, n), F4)
    space = np.empty_like(u)
    own = stencil.System("gray-scott", fields={"u": u, "v": v}, engine="cpu")
    k = {name: F4(value) for name, value in own.parameters.items()}
    assert own.report()["dt"] == 1 and set(k) >= {"feed", "kill"}

    def by_numpy(u, v, steps):
        for _ in range(steps):
            reaction = u * v * v
            u, v = (u + F4(0.16) * laplace(u, space) - reaction + k["feed"] * (1 - u),
                    v + F4(0.08) * laplace(v, np.empty_like(space)) + reaction - (k["feed"] + k["kill"]) * v)  # fmt: skip
        return u, v

    own.step(10)
    assert np.abs(own.field("u") - by_numpy(u, v, 10)[0]).max() < 1e-4
    return own, lambda steps: by_numpy(u, v, steps), own.step


def rows(name, make, sizes):
    for n in sizes:
        own, by_numpy, step = make(n)
        steps = max(1, 2**22 // n**2)
        theirs = shortest(lambda: by_numpy(steps)) / steps
        # As many as are asked for at a time decide how they are taken.
        many = 50 * steps
        ours = shortest(lambda: step(many)) / many
        print(f"| {name}, {n}x{n} | {ours * 1e6:.0f} | {theirs * 1e6:.0f} | {theirs / ours:.1f} |", flush=True)


def looks(n):
    u = np.random.default_rng(1).random((n, n), F4)
    own = stencil.System("gray-scott", fields={"u": u, "v": u}, engine="cpu")
    own.step(2)
    folder = tempfile.mkdtemp()
    path = os.path.join(folder, "spots.state")
    pieces = {
        "a system is made of two arrays": lambda: stencil.System("gray-scott", fields={"u": u, "v": u}, engine="cpu"),
        "`system.field(\"u\")`": lambda: own.field("u"),
        "`system[\"u\"] = array`": lambda: own.__setitem__("u", u),
        "`system[\"u\"][10:20] = 1`": lambda: own["u"].__setitem__(slice(10, 20), 1),
        "`system.parameters[\"feed\"] = 0.03`": lambda: own.parameters.__setitem__("feed", 0.03),
        "`system.copy()`": own.copy,
        "`pickle.loads(pickle.dumps(system))`": lambda: pickle.loads(pickle.dumps(own)),
        "`system.checkpoint(path)`": lambda: own.checkpoint(path),
    }  # fmt: skip
    for name, call in pieces.items():
        print(f"| {name} | {shortest(call) * 1e3:.2f} |", flush=True)
    print(f"| `u.copy()` of numpy, for comparison | {shortest(u.copy, 1) * 1e3:.2f} |")
    os.remove(path)
    os.rmdir(folder)


if __name__ == "__main__":
    print(f"{os.cpu_count()} cores; stencil {stencil.__version__}, numpy {np.__version__}\n")
    print("| float32 | stencil µs a step | numpy µs | times |\n| --- | --- | --- | --- |")
    rows("heat, `Simulation`", heat, [256, 1024, 2048])
    rows("a wave in a medium that varies, `System`", waves, [256, 1024, 2048])
    rows("Gray-Scott, `System`", spots, [256, 1024])
    print("\n| two fields of 1024x1024 float32 | ms |\n| --- | --- |")
    looks(1024)
