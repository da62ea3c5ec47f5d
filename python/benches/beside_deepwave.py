# SPDX-License-Identifier: MIT OR Apache-2.0
"""Systems beside Deepwave: acoustic waves (`deepwave.scalar`) and elastic ones (`deepwave.elastic`) in 2D, and their gradients.

    python python/benches/beside_deepwave.py [--quick] [--engine cuda] [--threads 1] [--size 256] [--steps 2000] [--turns 3]

Needs torch and deepwave (PyPI). Both compute the same scheme: second order in time, fourth in space, staggered grids of elastic waves with
means of media between points, 20 points of a perfectly matched layer (C-PML) beside the model at each side. First, in f64, as long as no
wave has come to a layer, the profiles of which are not the same: traces must agree to rounding, gradients by all media to 1e-9 of the
largest value, or the program fails. Then, in f32 and with layers, traces have to agree within 1e-2 and gradients within 1e-3, and both are timed
in turns, the shortest of several, each with its peak of memory in a process of its own: forward runs, and gradients.

`--memory` is what states of ours may take, in parts of what Deepwave keeps: a value of each point and step (acoustic), or five (elastic).
"""

import argparse
import json
import os
import pathlib
import resource
import subprocess
import sys
import threading
import time

if "--threads" in sys.argv:
    # Read when the libraries begin.
    os.environ["OMP_NUM_THREADS"] = os.environ["RAYON_NUM_THREADS"] = sys.argv[sys.argv.index("--threads") + 1]

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "tests"))
import conftest  # noqa: E402, F401  finds the library that cargo built

import deepwave  # noqa: E402
import torch  # noqa: E402

import stencil.torch  # noqa: E402

LAYER, SPACING, FREQUENCY = 20, 5.0, 25.0
NAMES = {"acoustic": ["v"], "elastic": ["lambda", "mu", "1/rho"]}
KEPT = {"acoustic": 1, "elastic": 5}


def derivative(axis, side):
    return {"derivative": axis + side, "order": 4}


ACOUSTIC = {
    "stencils": {"laplace": {"derivative": "laplace", "order": 4}},
    "fields": {"p": {"start": 0, "next": "2*p - prev(p) + (c*dt)^2*laplace(p)"}},
}
ELASTIC = {
    "stencils": {"yp": derivative("y", "+"), "ym": derivative("y", "-"), "xp": derivative("x", "+"), "xm": derivative("x", "-")},
    "fields": {
        "vy": {"start": 0, "next": "vy + dt*by*(yp(syy) + xm(sxy))"},
        "vx": {"start": 0, "next": "vx + dt*bx*(xp(sxx) + ym(sxy))"},
        "syy": {"start": 0, "next": "syy + dt*((lamb + 2*mu)*ym(new(vy)) + lamb*xm(new(vx)))"},
        "sxx": {"start": 0, "next": "sxx + dt*((lamb + 2*mu)*xm(new(vx)) + lamb*ym(new(vy)))"},
        "sxy": {"start": 0, "next": "sxy + dt*mxy*(yp(new(vx)) + xp(new(vy)))"},
    },
}


class Case:
    """A model, a source in its middle, a row of receivers."""

    def __init__(self, kind, size, steps, dtype, device):
        self.kind, self.steps, self.dtype, self.device = kind, steps, dtype, device
        draws = torch.Generator().manual_seed(1)
        cells = size // 8 + 2

        def drawn(low, high):
            coarse = torch.rand(1, 1, cells, cells, generator=draws, dtype=torch.float64)
            fine = torch.nn.functional.interpolate(coarse, size=(size, size), mode="bilinear")
            return (low + (high - low) * fine[0, 0]).to(device=device, dtype=dtype)

        speed, shear, density = drawn(1800, 2200), drawn(1000, 1200), drawn(1.8, 2.2)
        mu = density * shear**2
        self.media = [speed] if kind == "acoustic" else [density * speed**2 - 2 * mu, mu, 1 / density]
        self.fastest, self.dt = 2200.0, 0.5 * SPACING / (2200 * 2**0.5)
        self.source = [size // 2, size // 2]
        self.receivers = [[size // 2 - min(12, size // 8), column] for column in range(4, size - 4, max(1, size // 64))]
        wavelet = deepwave.wavelets.ricker(FREQUENCY, steps, self.dt, 1.2 / FREQUENCY, dtype=torch.float64)
        self.wavelet = wavelet.to(device=device, dtype=dtype)
        weights = torch.rand(steps, len(self.receivers), generator=draws, dtype=torch.float64)
        self.weights = weights.to(device=device, dtype=dtype)

    def leaves(self):
        return [each.clone().requires_grad_() for each in self.media]

    def theirs(self, media):
        places = torch.tensor([[self.source]], device=self.device), torch.tensor([self.receivers], device=self.device)
        options = {"accuracy": 4, "pml_width": LAYER, "pml_freq": FREQUENCY, "max_vel": self.fastest}
        amplitudes = self.wavelet.reshape(1, 1, -1)
        if self.kind == "acoustic":
            # With the other sign of sources.
            own = {"source_amplitudes": -amplitudes, "source_locations": places[0], "receiver_locations": places[1]}
            return deepwave.scalar(*media, SPACING, self.dt, **own, **options)[-1][0].T
        own = {"source_amplitudes_y": amplitudes, "source_locations_y": places[0], "receiver_locations_y": places[1]}
        return deepwave.elastic(*media, SPACING, self.dt, **own, **options).receiver_amplitudes_y[0].T

    def ours(self, media, engine, memory=None):
        y, x = (LAYER + each for each in self.source)
        media = [torch.nn.functional.pad(each[None, None], (LAYER,) * 4, mode="replicate")[0, 0] for each in media]
        if self.kind == "acoustic":
            (speed,) = media
            system, field, given = ACOUSTIC, "p", {"c": speed}
            added = self.wavelet * (speed[y, x] * self.dt) ** 2
        else:
            lamb, mu, buoyancy = media
            between = {"by": 1 / mean(1 / buoyancy, 0), "bx": 1 / mean(1 / buoyancy, 1), "mxy": 1 / mean(mean(1 / mu, 0), 1)}
            system, field, given = ELASTIC, "vy", {"lamb": lamb, "mu": mu, **between}
            added = self.wavelet * self.dt * between["by"][y, x]
        system = {
            **system,
            "grid": {"size": list(media[0].shape), "spacing": SPACING},
            "time": {"dt": self.dt},
            "sources": [{"field": field, "at": [y, x]}],
            "receivers": [{"field": field, "at": [LAYER + row, LAYER + column]} for row, column in self.receivers],
            "pml": {"width": LAYER, "speed": self.fastest, "frequency": FREQUENCY},
        }
        found = stencil.torch.run(system, self.steps, coefficients=given, sources=added[None], engine=engine, memory=memory)
        # Deepwave records before each step.
        return found.records[: self.steps]

    def gradient(self, run):
        """Traces, and the gradients of a number that is made of them."""
        media = self.leaves()
        traces = run(media)
        scale = 1 / traces.detach().abs().max()
        return traces.detach(), torch.autograd.grad((traces * scale * self.weights).square().sum(), media)


def mean(values, axis):
    """Of neighbours along an axis, half a point beside."""
    last = values.narrow(axis, values.shape[axis] - 1, 1)
    return (values + torch.cat([values.narrow(axis, 1, values.shape[axis] - 1), last], axis)) / 2


def off(found, wanted):
    return ((found - wanted).abs().max() / wanted.abs().max()).item()


def compare(case, engine, memory, limits):
    """How far both are apart; whether that is within the limits of traces and gradients."""
    own, gradients = case.gradient(lambda media: case.ours(media, engine, memory))
    their, theirs = case.gradient(case.theirs)
    traces = off(own, their)
    print(f"{case.kind}, {str(case.dtype)[6:]}, {case.steps} steps: traces differ by {traces:.1e} of the largest value")
    good = traces <= limits[0]
    for name, one, other in zip(NAMES[case.kind], gradients, theirs, strict=True):
        # Media below and beside the model are those of its edge: there a gradient sums what the layers hold, and they differ.
        inner = slice(4, -4)
        apart = off(one[inner, inner], other[inner, inner])
        print(f"    gradients by {name} by {apart:.1e}")
        good = good and apart <= limits[1]
    if not good:
        print(f"    NOT within {limits[0]:.0e} and {limits[1]:.0e}")
    return good


def seconds(run, device):
    begin = time.perf_counter()
    run()
    if device == "cuda":
        torch.cuda.synchronize()
    return time.perf_counter() - begin


def runs(case, engine, memory):
    """What is timed, by name."""

    def forward(run):
        with torch.no_grad():
            run(case.media)

    return {
        "ours": (lambda: forward(lambda media: case.ours(media, engine)), lambda: case.gradient(lambda media: case.ours(media, engine, memory))),
        "deepwave": (lambda: forward(case.theirs), lambda: case.gradient(case.theirs)),
    }


def peak(case, engine, memory, whose, what):
    """Bytes that a run takes at most beside what is there before it: of the host, and of the GPU. For a process of its own."""
    run = runs(case, engine, memory)[whose][what]
    small = Case(case.kind, 64, 60, case.dtype, case.device)
    # Libraries, threads and contexts are not counted. So many steps bring waves to receivers.
    runs(small, engine, memory)[whose][what]()

    def used():
        gpu = torch.cuda.mem_get_info() if case.device == "cuda" else (0, 0)
        with open("/proc/self/statm") as file:
            return [int(file.read().split()[1]) * resource.getpagesize(), gpu[1] - gpu[0]]

    if case.device == "cuda":
        torch.cuda.empty_cache()
    before, most, ends = used(), [0, 0], threading.Event()

    def watch():
        while not ends.wait(0.002):
            most[:] = map(max, most, used())

    watching = threading.Thread(target=watch)
    watching.start()
    run()
    ends.set()
    watching.join()
    print(json.dumps([max(own - there, 0) for own, there in zip(most, before, strict=True)]))


def table(case, args, memory):
    print(f"\n{case.kind}, {args.size}^2 points and layers of {LAYER}, f32, {args.steps} steps, {torch.get_num_threads()} threads; states of ours take {memory / 2**20:.0f} MiB at most")
    print(f"{'':24}{'ours':>12}{'deepwave':>12}{'ours are':>12}")
    timed = runs(case, args.engine, memory)
    took = {(who, what): [] for who in timed for what in (0, 1)}
    for _ in range(args.turns):
        for what in (0, 1):
            for who in timed:
                took[who, what].append(seconds(timed[who][what], case.device))
    peaks = {key: [0, 0] for key in took}
    for who, what in took:
        command = [sys.executable, __file__, *sys.argv[1:], "--peak", json.dumps([case.kind, memory, who, what])]
        told = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        peaks[who, what] = json.loads(told.splitlines()[-1])
    for what, name in enumerate(("forward", "with gradient")):
        one, other = (min(took[who, what]) for who in ("ours", "deepwave"))
        print(f"{name + ', s':24}{one:12.3f}{other:12.3f}{other / one:10.2f} x as fast")
        for number, where in enumerate(("host", "GPU")[: 1 + (case.device == "cuda")]):
            one, other = (peaks[who, what][number] / 2**20 for who in ("ours", "deepwave"))
            print(f"{'    MiB of the ' + where:24}{one:12.0f}{other:12.0f}{one / max(other, 1):10.2f} x as large")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--engine", default="cpu", help="of this library; cuda has Deepwave on the GPU, too")
    parser.add_argument("--threads", type=int, help="of the CPU, for both; all by default")
    parser.add_argument("--size", type=int, default=256)
    parser.add_argument("--steps", type=int, default=2000)
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--memory", type=float, default=0.25)
    parser.add_argument("--kind", choices=list(NAMES), action="append")
    parser.add_argument("--quick", action="store_true", help="small, and only that both agree")
    parser.add_argument("--peak", help=argparse.SUPPRESS)
    args = parser.parse_args()
    device = "cuda" if args.engine == "cuda" else "cpu"

    def states(kind, size, steps):
        return max(int(args.memory * KEPT[kind] * 4 * steps * (size + 2 * LAYER) ** 2), 2**24)

    if args.peak:
        kind, memory, who, what = json.loads(args.peak)
        return peak(Case(kind, args.size, args.steps, torch.float32, device), args.engine, memory, who, what)
    good = True
    for kind in args.kind or NAMES:
        # Waves come 45 points far.
        good &= compare(Case(kind, 100, 120, torch.float64, device), args.engine, None, (1e-12, 1e-9))
        size, steps = (100, 400) if args.quick else (args.size, args.steps)
        case, memory = Case(kind, size, steps, torch.float32, device), states(kind, size, steps)
        good &= compare(case, args.engine, memory, (1e-2, 1e-3))
        if not args.quick:
            table(case, args, memory)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
