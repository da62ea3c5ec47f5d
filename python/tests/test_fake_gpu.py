# SPDX-License-Identifier: MIT OR Apache-2.0
"""Arrays of a GPU in and out, with a driver that only keeps memory (`fake_cuda.c`): steps are taken by the engine `cpu`,
whose grids come from the GPU and go there by way of the host. Needs a C compiler."""

import os
import pathlib
import shutil
import subprocess
import sys

import pytest

SCRIPT = """
import ctypes, gc, threading
import conftest
import numpy as np
import stencil
from oracle import noise, plain
from producer import NEW, OLD, Producer, named, tensor_of, take_over

cuda = ctypes.CDLL("libcuda.so.1")
CODES = {"float16": (2, 16, 1), "float32": (2, 32, 1), "float64": (2, 64, 1)}

def values(capsule):
    tensor = tensor_of(capsule)
    shape, bits = tuple(tensor.shape[:tensor.axes]), tensor.bits
    count = int(np.prod(shape)) * bits // 8
    assert tuple(tensor.strides[:tensor.axes]) == tuple(s * 8 // bits for s in np.empty(shape, f"f{bits // 8}").strides)
    return np.frombuffer(ctypes.string_at(tensor.data, count), f"f{bits // 8}").reshape(shape)

for name, shape, padded in [
    ("star1d2r", (700,), None),
    ("star2d2r", (30, 50), None),
    ("star2d2r", (30, 50), (30, 64)),
    ("star3d1r", (9, 12, 17), (9, 13, 20)),
]:
    for dtype, code in CODES.items():
        for version in (0, 1):
            u = noise(*shape, dtype=dtype)
            whole = np.full(padded or shape, np.nan, dtype)
            whole[tuple(slice(n) for n in shape)] = u
            strides = tuple(stride // u.itemsize for stride in whole.strides) if padded else None
            producer = Producer(shape, strides, address=whole.ctypes.data, dtype=code, version=version)
            result = stencil.run(name, producer, 3, engine="cpu")
            assert producer.given == producer.freed == 1
            assert result.shape == shape and result.dtype == dtype, result
            expected = stencil.run(name, u, 3, engine="cpu")
            np.testing.assert_array_equal(result.numpy(), expected)
            for asked, label in [(None, OLD), ((0, 8), OLD), ((1, 0), NEW), ((2, 5), NEW)]:
                capsule = result.__dlpack__(stream=None, max_version=asked)
                assert named(capsule) == label, (asked, named(capsule))
                assert result.__dlpack_device__() == (2, 0)
                np.testing.assert_array_equal(values(capsule), expected)
            interface = result.__cuda_array_interface__
            assert interface["shape"] == shape and interface["version"] == 3
            assert interface["data"] == (tensor_of(capsule).data, False)
            assert np.dtype(interface["typestr"]) == u.dtype

# One that outlives what it was made of: taken over, and freed by its deleter on a thread of another.
simulation = stencil.Simulation("star2d2r", noise(30, 50), engine="cpu")
del result, capsule, interface
gc.collect()
assert cuda.fake_allocated() == 0, cuda.fake_allocated()
for version in (None, (1, 0)):
    field = simulation.field(device="cuda")
    capsule = field.__dlpack__(max_version=version)
    del field
    gc.collect()
    assert cuda.fake_allocated() == 1
    np.testing.assert_array_equal(values(capsule), simulation.field())
    delete = take_over(capsule)
    del capsule
    gc.collect()
    assert cuda.fake_allocated() == 1
    thread = threading.Thread(target=delete)
    thread.start()
    thread.join()
    assert cuda.fake_allocated() == 0
field = simulation.field(device="cuda")
for refused in [{"dl_device": (1, 0)}, {"copy": True}]:
    try:
        field.__dlpack__(**refused)
    except BufferError:
        pass
    else:
        raise AssertionError(refused)
assert repr(field) == "stencil.DeviceArray(30x50, float64, GPU 0)", repr(field)
del field
try:
    stencil.run("star2d1r", Producer((2, 3), address=np.full((2, 3), np.inf, "f4").ctypes.data), 1, engine="cpu")
except stencil.NotFiniteError as refused:
    assert "(0, 0)" in str(refused), refused
else:
    raise AssertionError("taken")
# Whatever was taken of the driver was given back.
assert (cuda.fake_allocated(), cuda.fake_retained(), cuda.fake_pushed()) == (0, 0, 0)
print("right")
"""


def test_arrays_go_in_and_out_and_leave_nothing_behind(tmp_path):
    compiler = shutil.which("cc") or shutil.which("gcc")
    if not compiler:
        pytest.skip("there is no C compiler")
    here = pathlib.Path(__file__).parent
    fake = tmp_path / "libcuda.so.1"
    subprocess.run([compiler, "-shared", "-fPIC", "-O1", "-o", fake, here / "fake_cuda.c"], check=True)
    environment = {**os.environ, "LD_LIBRARY_PATH": str(tmp_path), "CUDA_VISIBLE_DEVICES": ""}
    done = subprocess.run([sys.executable, "-c", SCRIPT], cwd=here, env=environment, text=True, capture_output=True)
    assert done.returncode == 0 and done.stdout == "right\n", done.stdout + done.stderr
