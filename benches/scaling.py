#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""Weak and strong scaling of `host run` over the GPUs of a machine, every run verified.

usage: scaling.py HOST [--gpus 2] [--exchange peer,nccl] [--json FILE] [--only WORD]

Weak: a grid a GPU. Strong: one grid for all. Efficiency is the time of a step on one GPU beside that on several, for the
same points on each (weak) or a share of them (strong). Needs nothing but Python and the program.
"""

import argparse
import json
import subprocess
import sys

# Stencil, element type, points of a GPU or of the whole, steps, options.
WEAK = [
    ("star2d1r", "f16", [10240, 10240], 7680, ["--engine", "sparse"]),
    ("box2d1r", "f16", [10240, 10240], 7680, ["--engine", "sparse"]),
    ("star3d1r", "f16", [1024, 1024, 1024], 240, ["--engine", "sparse"]),
    ("star2d1r", "f64", [10240, 10240], 1920, ["--engine", "cuda"]),
    ("star2d1r", "f32", [10240, 10240], 3840, ["--engine", "cuda"]),
]
STRONG = [
    ("star2d1r", "f16", [20480, 20480], 1920, ["--engine", "sparse"]),
    ("star2d1r", "f64", [20480, 20480], 480, ["--engine", "cuda"]),
]


def run(host, stencil, dtype, extents, steps, options):
    """The report of a run."""
    size = "x".join(map(str, extents))
    command = [host, "run", "--stencil", stencil, "--size", size, "--dtype", dtype]
    command += ["--steps", str(steps), "--time", "5", "--json", "-", *options]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        print(" ".join(command), done.stderr, sep="\n", file=sys.stderr)
        return None
    return json.loads(done.stdout)


def seconds_per_step(report, steps):
    return report["seconds"] / steps


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("host")
    parser.add_argument("--gpus", type=int, default=2)
    parser.add_argument("--exchange", default="peer,nccl")
    parser.add_argument("--json")
    parser.add_argument("--only", default="")
    parser.add_argument("--more", default="", help="options for every run")
    asked = parser.parse_args()
    rows = []
    for mode, workloads in [("weak", WEAK), ("strong", STRONG)]:
        for stencil, dtype, extents, steps, options in workloads:
            name = f"{mode} {stencil} {dtype} {'x'.join(map(str, extents))}"
            if asked.only not in name:
                continue
            options = options + asked.more.split()
            one = run(asked.host, stencil, dtype, extents, steps, options)
            if one is None:
                continue
            alone = seconds_per_step(one, steps)
            print(f"{name}: 1 GPU {alone * 1e6:.2f} us/step, {one['kernel']} fuse {one['fuse']} chain {one['chain']}", flush=True)
            rows.append(dict(workload=stencil, dtype=dtype, extents=extents, mode=mode, gpus=1, exchange="", seconds_per_step=alone, kernel=one["kernel"]))
            several = list(extents)
            if mode == "weak":
                several[0] *= asked.gpus
            for exchange in asked.exchange.split(","):
                more = options + ["--gpus", str(asked.gpus), "--exchange", exchange]
                shared = run(asked.host, stencil, dtype, several, steps, more)
                if shared is None:
                    continue
                time = seconds_per_step(shared, steps)
                efficiency = alone / time / (1 if mode == "weak" else asked.gpus)
                print(f"    {asked.gpus} GPUs by {exchange}: {time * 1e6:.2f} us/step, efficiency {efficiency:.3f}, {shared['kernel']}, {shared['device']}", flush=True)
                rows.append(dict(workload=stencil, dtype=dtype, extents=several, mode=mode, gpus=asked.gpus, exchange=exchange, seconds_per_step=time, kernel=shared["kernel"], efficiency=efficiency))
    if asked.json:
        with open(asked.json, "w") as file:
            json.dump(rows, file, indent=1)


main()
