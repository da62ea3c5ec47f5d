# SPDX-License-Identifier: MIT OR Apache-2.0
"""On a machine with a GPU: every engine by the package, beside torch in one process if it is installed.

    python python/tests/gpu_torch.py

Every result is compared with the plain stencil in f64 (`verify="full"`). Ends with 0, or with the first mistake.
"""

import numpy as np
import stencil

STEPS = 25
GPU = {"float16": ["sparse", "cuda", "auto"], "float32": ["sparse", "cuda", "auto"], "float64": ["dense", "cuda", "auto"]}


def engines():
    noise = np.random.default_rng(1)
    for dtype, names in GPU.items():
        u = noise.random((300, 500)).astype(dtype)
        for name in names:
            for boundary in ["zero", "x:periodic,y:reflect"]:
                found = stencil.run("star2d1r", u, STEPS, engine=name, boundary=boundary, verify="full")
                assert found.dtype == u.dtype and np.isfinite(found).all()
                print("right", dtype, name, boundary)
    simulation = stencil.Simulation("star2d3r", noise.random((4096, 4096), np.float32).astype("float16"))
    simulation.step(1000)
    assert simulation.report()["engine"] != "cpu", simulation.report()
    print(simulation)
    spots = stencil.System("gray-scott", engine="cuda")
    spots.step(100)
    beside = stencil.System("gray-scott", engine="cpu")
    beside.step(100)
    print("gray-scott: cuda and cpu differ by", np.abs(spots.field("v") - beside.field("v")).max())


def torch_beside():
    try:
        import torch
    except ImportError:
        print("torch is not installed: not tried")
        return
    on_gpu = torch.rand(300, 500, device="cuda")
    before = on_gpu.sum().item()
    simulation = stencil.Simulation("star2d1r", on_gpu.cpu(), engine="cuda")
    for now in simulation.observe(steps=100, every=20):
        on_gpu = on_gpu.roll(1, 0)  # both use the GPU in turns
        field = torch.from_dlpack(now.field())
        assert field.shape == on_gpu.shape
    assert abs(on_gpu.sum().item() - before) < 1e-2 * before
    try:
        stencil.run("star2d1r", on_gpu, 1)
    except stencil.InputError as refused:
        print("as told:", refused)
    else:
        raise AssertionError("arrays of a GPU are not taken yet")
    print("right beside torch", torch.__version__)


if __name__ == "__main__":
    engines()
    torch_beside()
