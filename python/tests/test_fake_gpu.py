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
import ctypes, gc, os, pickle, tempfile, threading
import conftest
import numpy as np
import stencil
from oracle import noise, plain
from producer import NEW, OLD, Producer, freed_twice, managed_of, named, take_over, tensor_of

cuda = ctypes.CDLL("libcuda.so.1")
# DLPack's code, bits and lanes of each type, and the type of numpy that holds its bits.
CODES = {
    "float16": ((2, 16, 1), "f2"),
    "bfloat16": ((4, 16, 1), "u2"),
    "float32": ((2, 32, 1), "f4"),
    "float64": ((2, 64, 1), "f8"),
}

def made(shape, dtype):
    # Values that the type holds, and their bits.
    if dtype != "bfloat16":
        u = noise(*shape, dtype=dtype)
        return u, u
    bits = noise(*shape, dtype="f4").view("u4") >> 16
    return (bits << 16).view("f4"), bits.astype("u2")

def read(bits, dtype):
    return (bits.astype("u4") << 16).view("f4") if dtype == "bfloat16" else bits

def values(capsule, dtype, extents):
    # The values of a capsule, after a look at all that it says.
    managed, (code, kind) = managed_of(capsule), CODES[dtype]
    tensor = managed.tensor
    assert (tensor.code, tensor.bits, tensor.lanes) == code, dtype
    assert (tensor.device, tensor.number, tensor.byte_offset) == (2, 0, 0)
    assert tuple(tensor.shape[:tensor.axes]) == extents
    packed = np.empty(extents, kind)
    assert tuple(tensor.strides[:tensor.axes]) == tuple(s // packed.itemsize for s in packed.strides)
    if named(capsule) == NEW:
        assert (managed.major, managed.minor, managed.flags) == (1, 0, 0)
    bits = np.frombuffer(ctypes.string_at(tensor.data, packed.nbytes), kind).reshape(extents)
    return read(bits, dtype)

# Each with the strides that are said, of an array that lies in a wider one: none, those of C order, rows apart,
# planes apart, and any for an axis of a single point.
ARRAYS = [
    ("star1d2r", (700,), (700,), None),
    ("star1d2r", (700,), (700,), (1,)),
    ("star2d2r", (30, 50), (30, 50), None),
    ("star2d2r", (30, 50), (30, 50), (50, 1)),
    ("star2d2r", (30, 50), (30, 64), (64, 1)),
    ("star2d2r", (1, 50), (1, 50), (-7, 1)),
    ("star2d2r", (30, 1), (30, 3), (3, 9)),
    ("star3d1r", (9, 12, 17), (9, 13, 20), (260, 20, 1)),
    ("star3d1r", (9, 1, 17), (9, 1, 17), (17, -3, 1)),
]
turn = 0
for name, shape, whole, strides in ARRAYS:
    for dtype, (code, kind) in CODES.items():
        for version in (0, 1):
            # The first value may lie behind the address; flags say that the array is read-only, or a copy.
            turn += 1
            offset, flags = (0, 8, 24, 512)[turn // 2 % 4], turn % 4
            u, bits = made(shape, dtype)
            memory = np.full(offset // bits.itemsize + int(np.prod(whole)), np.nan if kind != "u2" else 0x7fc0, kind)
            memory[offset // bits.itemsize:].reshape(whole)[tuple(slice(n) for n in shape)] = bits
            before = memory.tobytes()
            producer = Producer(
                shape, strides, address=memory.ctypes.data, offset=offset, dtype=code, version=version, flags=flags
            )
            result = stencil.run(name, producer, 3, engine="cpu")
            assert producer.given == producer.freed == 1 and not freed_twice
            assert memory.tobytes() == before
            assert result.shape == shape and result.dtype == dtype, result
            expected = stencil.run(name, u, 3, engine="cpu", dtype=dtype).astype(u.dtype)
            np.testing.assert_array_equal(result.numpy().astype(u.dtype), expected)
            for asked, label in [(None, OLD), ((0, 8), OLD), ((1, 0), NEW), ((2, 5), NEW)]:
                capsule = result.__dlpack__(stream=None, max_version=asked)
                assert named(capsule) == label, (asked, named(capsule))
                assert result.__dlpack_device__() == (2, 0)
                np.testing.assert_array_equal(values(capsule, dtype, shape), expected)
            if dtype == "bfloat16":
                assert not hasattr(result, "__cuda_array_interface__")
                continue
            interface = result.__cuda_array_interface__
            assert interface["shape"] == shape and interface["version"] == 3
            assert interface["data"] == (tensor_of(capsule).data, False)
            assert (interface["strides"], interface["stream"]) == (None, None)
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
    np.testing.assert_array_equal(values(capsule, "float64", (30, 50)), simulation.field())
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
# Fields, coefficients and masks of systems, and values that are set between steps.
u, v = noise(30, 50, dtype="f4"), noise(30, 50, dtype="f4") + 1
on_device = lambda array: Producer(array.shape, None, address=array.ctypes.data, dtype=(2, 32, 1))
mask = (v > 1.5).astype("f4")
text = lambda u, v, mask: {
    "coefficients": {"v": v},
    "fields": {"u": {"start": u, "before": u, "keep": mask, "next": "u + v + 0*prev(u)"}},
}
producers = [on_device(each) for each in (u, v, mask)]
there, here = stencil.System(text(*producers), engine="cpu"), stencil.System(text(u, v, mask), engine="cpu")
assert all(each.given == each.freed > 0 for each in producers)
for own in (there, here):
    own.step(2)
np.testing.assert_array_equal(there.field(), here.field())
for own in (there, simulation, stencil.Simulation("star2d2r", u, engine="cpu")):
    values_then = noise(30, 50, dtype="f4") + 3
    wide = own.field().dtype == np.float64
    given = values_then.astype("f8") if wide else values_then
    producer = Producer((30, 50), None, address=given.ctypes.data, dtype=(2, 64 if wide else 32, 1))
    own["u"] = producer
    assert producer.given == producer.freed == 1
    np.testing.assert_array_equal(own["u"], given)
there["u", 1] = on_device(u)
np.testing.assert_array_equal(there["u", 1], u)
# What fields begin with is copied there, and read when somebody asks for it: the array may change, and the problem is known by its values.
for rule in ("u/2", "u*u/9"):
    changed = u.copy()
    producer = on_device(changed)
    of = lambda start: stencil.System({"fields": {"u": {"start": start, "next": rule}}}, engine="cpu")
    kept, plain_one, other = of(producer), of(u), of(v)
    assert producer.given == producer.freed == 1
    changed[...] = 0
    same = [kept, kept.copy(), pickle.loads(pickle.dumps(kept))]
    for own in (*same, plain_one):
        own.step(2)
    for own in same:
        np.testing.assert_array_equal(own.field(), plain_one.field())
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "kept")
        kept.checkpoint(path)
        of(on_device(u)).resume(path)
        plain_one.resume(path)
        if "*" in rule:
            try:
                other.resume(path)
            except stencil.Error:
                pass
            else:
                raise AssertionError("of another start")
    for wrong in (on_device(np.full((30, 50), np.nan, "f4")), on_device(np.full((30, 50), np.inf, "f4"))):
        try:
            of(wrong).step(1)
        except stencil.NotFiniteError as refused:
            pass
        else:
            raise AssertionError("taken")
    del kept, plain_one, other, same, own, wrong
# A part of a field, and all of it, by way of the driver.
there["u"][...] = on_device(v)
np.testing.assert_array_equal(there["u"], v)
there["u"] = 0
there["u"][...] = here.field(device="cuda")
np.testing.assert_array_equal(there["u"], here["u"])
there["u"][3:5] = stencil.Simulation("star2d1r", u[3:5].copy(), engine="cpu").field(device="cuda")
np.testing.assert_array_equal(there["u"][3:5], u[3:5])
try:
    there["u"][3:5] = on_device(u[3:5].copy())
except stencil.InputError as refused:
    assert "an array of a GPU is given for a part" in str(refused) and "set the whole field" in refused.help, refused
else:
    raise AssertionError("taken")
narrow, infinite = u[:, :40].copy(), np.full((30, 50), np.nan, "f4")
for wrong in [on_device(narrow), on_device(infinite)]:
    for own in (there, stencil.Simulation("star2d2r", u, engine="cpu")):
        try:
            own["u"] = wrong
        except stencil.Error:
            pass
        else:
            raise AssertionError("taken")
del there, here, own, simulation, producers, producer, wrong
gc.collect()
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
