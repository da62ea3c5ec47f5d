# SPDX-License-Identifier: MIT OR Apache-2.0
"""On a machine with a GPU: every engine by the package, and arrays of the GPU in and out by DLPack.

    python python/tests/gpu_torch.py

It needs numpy. Arrays of the GPU are made with the driver alone (`driver.py`, `producer.py`), and with torch and CuPy
where they are installed. With `STENCIL_LIBRARY=FILE` the package is that of this folder with a library that cargo built.
Prints a line `OK ...` for each thing that holds, and times; ends with 0, or with the first mistake.
"""

import os
import pickle
import sys
import tempfile
import time

import conftest  # noqa: F401: takes the library that STENCIL_LIBRARY names

try:
    import numpy as np
except ImportError:
    sys.exit("numpy is not installed: nothing can be compared. Install it: python3 -m pip install numpy")

import stencil
from driver import Driver
from oracle import noise, plain
from producer import NEW, OLD, Producer, named, tensor_of

STEPS = 25
GPU = {"float16": ["sparse", "cuda", "auto"], "float32": ["sparse", "cuda", "auto"], "float64": ["dense", "cuda", "auto"]}
# Relative to the largest value: some roundings of the type. float32 on tensor cores is tf32 unless it is split.
TOLERANCE = {"float16": 1e-2, "float32": 2e-5, "float64": 1e-13}
CODES = {"float16": (2, 16, 1), "float32": (2, 32, 1), "float64": (2, 64, 1)}
NAMES = {1: "star1d2r", 2: "star2d2r", 3: "star3d1r"}


def ok(*what):
    print("OK", *what, flush=True)


def seconds(work, turns=5):
    """The least of some turns."""
    times = []
    for _ in range(turns):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)


def close(found, expected, dtype, what):
    found = np.asarray(found, np.float64)
    error = np.abs(found - expected).max() / np.abs(expected).max()
    assert found.shape == expected.shape and error <= TOLERANCE[dtype], (what, error)
    return f"{error:.1e}"


def engines():
    for dtype, names in GPU.items():
        u = noise(300, 500, dtype=dtype)
        for name in names:
            for boundary in ["zero", "x:periodic,y:reflect"]:
                found = stencil.run("star2d1r", u, STEPS, engine=name, boundary=boundary, verify="full")
                assert found.dtype == u.dtype and np.isfinite(found).all()
                ok("engine", name, dtype, boundary)
    simulation = stencil.Simulation("star2d3r", noise(4096, 4096, dtype="float16"))
    simulation.step(1000)
    assert simulation.report()["engine"] != "cpu", simulation.report()
    print(simulation)
    spots = stencil.System("gray-scott", engine="cuda")
    spots.step(100)
    beside = stencil.System("gray-scott", engine="cpu")
    beside.step(100)
    difference = np.abs(spots.field("v") - beside.field("v")).max()
    assert difference < 1e-5, difference
    ok("gray-scott: cuda and cpu differ by", difference)


def by_hand(driver):
    """Arrays of a producer that is made by hand."""
    for dtype, code in CODES.items():
        for shape, pitch in [((5000,), None), ((300, 500), None), ((300, 500), 640), ((20, 30, 70), 96)]:
            for version in (0, 1):
                u = noise(*shape, dtype=dtype)
                strides = None
                whole = u
                if pitch:
                    # Rows at a pitch, in 3D planes with rows to spare; what lies between is no number.
                    padded = (*shape[:-2], shape[-2] + (len(shape) == 3), pitch)
                    whole = np.full(padded, np.nan, dtype)
                    whole[tuple(slice(n) for n in shape)] = u
                    strides = tuple(stride // u.itemsize for stride in whole.strides)
                array = driver.upload(whole)
                producer = Producer(shape, strides, address=array, dtype=code, version=version)
                name = NAMES[len(shape)]
                expected = plain(stencil.weights(name), u, 4)
                result = stencil.run(name, producer, 4, engine="cuda")
                assert producer.given == producer.freed == 1
                assert result.shape == shape and result.dtype == dtype, result
                error = close(result.numpy(), expected, dtype, (dtype, shape, pitch, version))
                # What others see of it.
                for asked, label in [(None, OLD), ((1, 0), NEW)]:
                    capsule = result.__dlpack__(stream=1, max_version=asked)
                    assert named(capsule) == label
                    tensor = tensor_of(capsule)
                    assert (tensor.device, tensor.number, tensor.axes) == (2, 0, len(shape))
                    assert (tensor.code, tensor.bits, tensor.lanes) == code
                    assert tuple(tensor.shape[:tensor.axes]) == shape
                    values = driver.download(tensor.data, shape, dtype)
                    np.testing.assert_array_equal(values, result.numpy())
                interface = result.__cuda_array_interface__
                values = driver.download(interface["data"][0], interface["shape"], interface["typestr"])
                np.testing.assert_array_equal(values, result.numpy())
                driver.free(array)
                ok("by hand:", dtype, shape, "rows at", pitch or shape[-1], "DLPack", version, "error", error)
    u = noise(300, 500, dtype="float32")
    array = driver.upload(u)
    for engine in ["cpu", "fft", "auto"]:
        # Those whose grids lie on the host have it copied there.
        result = stencil.run("star2d2r", Producer((300, 500), address=array), 4, engine=engine)
        close(result.numpy(), plain(stencil.weights("star2d2r"), u, 4), "float32", engine)
        ok("by hand: engine", engine)
    driver.free(array)
    bad = u.copy()
    bad[7, 11] = np.nan
    array = driver.upload(bad)
    try:
        stencil.run("star2d2r", Producer((300, 500), address=array), 4, engine="cuda")
    except stencil.NotFiniteError as refused:
        assert "(7, 11)" in str(refused), refused
        ok("by hand: told", refused)
    else:
        raise AssertionError("not a number, and nobody says so")
    driver.free(array)


def keeps_memory(driver):
    """A capsule that outlives its array keeps the memory, and gives it back; nothing is lost on the way."""
    u = noise(2048, 2048, dtype="float32")
    array = driver.upload(u)
    take = lambda: stencil.run("star2d1r", Producer(u.shape, address=array), 1, engine="cuda")
    capsule = take().__dlpack__()
    expected = take().numpy()
    others = [take() for _ in range(4)]
    np.testing.assert_array_equal(driver.download(tensor_of(capsule).data, u.shape, u.dtype), expected)
    del others, capsule
    free = driver.free_bytes()
    for _ in range(40):
        take().__dlpack__(max_version=(1, 0))
    lost = free - driver.free_bytes()
    assert lost < 4 * u.nbytes, f"{lost} bytes are lost"
    driver.free(array)
    ok("capsules keep their memory, and give it back")


def times(driver):
    u = noise(10240, 10240, dtype="float32")
    array = driver.upload(u)
    producer = Producer(u.shape, address=array)
    gigabytes = u.nbytes / 1e9
    on_gpu = stencil.Simulation("star2d1r", producer, engine="cuda", portions=10)
    on_host = stencil.Simulation("star2d1r", u, engine="cuda", portions=10)
    heat = {"stencils": {"laplace": {"derivative": "laplace", "order": 2}}, "grid": {"dtype": "f32"}}
    system = stencil.System({**heat, "fields": {"u": {"start": u, "next": "u + 0.1*laplace(u)"}}}, engine="cuda")
    for what, work in [
        ("Simulation of an array of the GPU", lambda: stencil.Simulation("star2d1r", producer, engine="cuda")),
        ("Simulation of an array of numpy", lambda: stencil.Simulation("star2d1r", u, engine="cuda")),
        ("field(device='cuda')", lambda: on_gpu.field(device="cuda")),
        ("field()", lambda: on_host.field()),
        ("Field of a System, of an array of the GPU", lambda: system.__setitem__("u", producer)),
        ("Field of a System, of an array of numpy", lambda: system.__setitem__("u", u)),
        ("field(device='cuda') of a System", lambda: system.field("u", device="cuda")),
        ("field() of a System", lambda: system.field("u")),
    ]:
        took = seconds(work)
        print(f"{what}: {1e3 * took:.2f} ms, {gigabytes / took:.1f} GB/s of {u.shape} {u.dtype}")
    for simulation in (on_gpu, on_host):
        simulation.step(10)
    np.testing.assert_array_equal(on_gpu.field(device="cuda").numpy(), on_host.field())
    driver.free(array)
    ok("both ways lead to the same values")


def with_torch(driver):
    try:
        import torch
    except ImportError:
        print("torch is not installed: not tried")
        return
    weights = stencil.weights("star2d2r")
    kernel = torch.tensor(weights, dtype=torch.float64, device="cuda")[None, None]
    for dtype in [torch.float16, torch.bfloat16, torch.float32, torch.float64]:
        u = torch.rand(500, 700, device="cuda").to(dtype)
        expected = u.double()[None, None]
        for _ in range(4):
            expected = torch.nn.functional.conv2d(expected, kernel, padding=2)
        for array in [u, torch.nn.functional.pad(u, (0, 33))[:, :700]]:
            found = torch.from_dlpack(stencil.run("star2d2r", array, 4, engine="cuda"))
            assert found.is_cuda and found.dtype == dtype and found.shape == u.shape
            error = ((found.double() - expected[0, 0]).abs().max() / expected.abs().max()).item()
            bound = {torch.bfloat16: 5e-2, torch.float16: 1e-2, torch.float32: 2e-6, torch.float64: 1e-13}[dtype]
            assert error <= bound, (dtype, error)
            ok("torch:", dtype, "strides", array.stride(), "beside conv2d in float64, error", f"{error:.1e}")
    # The producer's stream: what it has still to do is waited for.
    side = torch.cuda.Stream()
    u = torch.zeros(4096, 4096, device="cuda")
    torch.cuda.synchronize()
    with torch.cuda.stream(side):
        torch.cuda._sleep(200_000_000)
        u.fill_(1.0)
        found = torch.from_dlpack(stencil.run("star2d1r", u, 1, boundary="periodic", engine="cuda"))
        assert (found - 1).abs().max().item() < 1e-5
    ok("torch: work on a stream of its own is waited for")
    simulation = stencil.Simulation("star2d1r", u, engine="cuda")
    del u
    torch.cuda.empty_cache()
    simulation.step(10)
    field = torch.from_dlpack(simulation.field(device="cuda"))
    field *= 2  # it is torch's own
    assert torch.isfinite(field).all().item() and simulation.field().max() <= 1.01
    ok("torch: fields are copies that torch may change")
    for bad, kind in [
        (torch.rand(30, 40, device="cuda").T, stencil.InputError),
        (torch.ones(30, 40, device="cuda", dtype=torch.int32), stencil.InputError),
        (torch.rand(30, 40, device="cuda", requires_grad=True), (BufferError, RuntimeError)),
    ]:
        try:
            stencil.run("star2d1r", bad, 1)
        except kind as refused:
            ok("torch: told", refused)
        else:
            raise AssertionError("taken")
    for weights in [kernel[0, 0], kernel[0, 0].float()]:
        try:
            stencil.run(weights, torch.rand(30, 40, device="cuda"), 1)
        except stencil.InputError as refused:
            ok("torch: told", refused)
        else:
            raise AssertionError("taken")
        here = stencil.run(weights.cpu(), np.ones((30, 40), "f4"), 1, engine="cpu")
        assert (here == stencil.run("star2d2r", np.ones((30, 40), "f4"), 1, engine="cpu")).all()
    try:
        stencil.Simulation("star2d1r", torch.ones(30, 40, dtype=torch.bfloat16))
    except stencil.InputError as refused:
        ok("torch: told", refused)
    if torch.cuda.device_count() > 1:
        try:
            stencil.run("star2d1r", torch.rand(30, 40, device="cuda:1"), 1)
        except stencil.InputError as refused:
            ok("torch: told", refused)
        else:
            raise AssertionError("taken")
    u = torch.rand(10240, 10240, device="cuda")
    torch.cuda.synchronize()
    took = seconds(lambda: stencil.Simulation("star2d1r", u, engine="cuda"))
    print(f"Simulation of a tensor of {tuple(u.shape)}: {1e3 * took:.2f} ms")
    steps = 100
    took = seconds(lambda: torch.from_dlpack(stencil.run("star2d1r", u, steps, engine="cuda")))
    print(f"run of {steps} steps of it, in and out: {1e3 * took:.2f} ms")
    plus = torch.nn.functional.conv2d
    kernel = torch.tensor(stencil.weights("star2d1r"), dtype=torch.float32, device="cuda")[None, None]

    def convolve():
        v = u[None, None]
        for _ in range(steps):
            v = plus(v, kernel, padding=1)
        torch.cuda.synchronize()

    print(f"the same by conv2d of torch {torch.__version__}: {1e3 * seconds(convolve, 2):.2f} ms")


def with_cupy(driver):
    try:
        import cupy
    except ImportError:
        print("cupy is not installed: not tried")
        return
    u = noise(300, 500, dtype="float32")
    found = stencil.run("star2d2r", cupy.asarray(u), 4, engine="cuda")
    expected = plain(stencil.weights("star2d2r"), u, 4)
    for array in [cupy.from_dlpack(found), cupy.asarray(found)]:
        close(cupy.asnumpy(array), expected, "float32", "cupy")
    ok("cupy: in, and out by DLPack and by __cuda_array_interface__")


def fields_of_systems(torch):
    """Fields of systems in and out on the GPU: with the same bits, not by way of the host, and looked at there."""
    for dtype in (torch.float32, torch.float64, torch.float16, torch.bfloat16):
        kept, (ny, nx) = str(dtype)[6:], (700, 903)
        waves = {"stencils": {"laplace": {"derivative": "laplace", "order": 2}},
                 "fields": {"p": {"start": 0, "next": "2*p - prev(p) + 0.1*laplace(p)"}, "q": {"start": 0, "next": "q + 0.1*p*q"}}}  # fmt: skip
        there, here = (stencil.System(waves, size=(ny, nx), dtype=kept, engine="cuda") for _ in range(2))
        for turn in range(3):
            for key in ("p", ("p", 1), "q"):
                wide = torch.rand(ny, nx + 5, device="cuda").to(dtype)
                # Rows of a wider array.
                values = wide[:, :nx]
                there[key] = values
                here[key] = values.float().cpu().numpy() if dtype == torch.bfloat16 else values.cpu().numpy()
                found = torch.from_dlpack(there._level_on_device(*(key if isinstance(key, tuple) else (key, 0))))
                assert found.dtype == dtype and torch.equal(found, values), (dtype, key)
            for steps in (1, 3, 8):
                there.step(steps)
                here.step(steps)
            for name in ("p", "q"):
                own = torch.from_dlpack(there.field(name, device="cuda"))
                assert torch.equal(own.cpu(), torch.from_dlpack(here.field(name, device="cuda")).cpu()), (dtype, name)
                np.testing.assert_array_equal(there.field(name), here.field(name))
        for bad in (float("nan"), float("inf")):
            for place in ((0, 0), (350, 400), (ny - 1, nx - 1)):
                values = torch.ones(ny, nx, device="cuda", dtype=dtype)
                values[place] = bad
                before = there.field("p")
                try:
                    there["p"] = values
                except stencil.Error as refused:
                    assert "finite" in str(refused) or "NaN" in str(refused) or "inf" in str(refused), refused
                else:
                    raise AssertionError("a value that is not finite is taken")
                np.testing.assert_array_equal(there.field("p"), before)
    ok("torch: fields of systems stay on the GPU, with the same bits, and are looked at")
    u = torch.rand(16384, 16384, device="cuda")
    system = stencil.System({"fields": {"u": {"start": 0, "next": "u/2"}}}, size=(16384, 16384), dtype="f32", engine="cuda")
    for what, work in [
        ("a field of a system set from a tensor", lambda: system.__setitem__("u", u)),
        ("field(device='cuda') of a system", lambda: torch.from_dlpack(system.field("u", device="cuda"))),
    ]:
        work()
        took, gigabytes = seconds(work), u.nbytes / 1e9
        print(f"{what}: {1e3 * took:.2f} ms, {gigabytes / took:.0f} GB/s of {tuple(u.shape)}")
        # More than any way through the host has.
        assert gigabytes / took > 150, f"{what} goes through the host"
    assert torch.equal(torch.from_dlpack(system.field("u", device="cuda")), u)


def starts_of_systems(torch):
    """What fields of systems begin with, on the GPU: with the same bits as of arrays of the host, not by way of it, and looked at there."""
    for dtype in (torch.float32, torch.float64, torch.float16, torch.bfloat16):
        kept, (ny, nx) = str(dtype)[6:], (310, 403)
        host = lambda each: each.float().cpu().numpy() if dtype == torch.bfloat16 else each.cpu().numpy()
        p, past, q = (torch.rand(ny, nx + 5, device="cuda").to(dtype)[:, :nx] for _ in range(3))
        for before, rule in ((None, "q + 0.1*p*q"), (past, "q/2")):
            def made(move):
                of_p = {"start": move(p), "next": "2*p - prev(p) + 0.1*laplace(p)"} | ({} if before is None else {"before": move(before)})
                return stencil.System({
                    "stencils": {"laplace": {"derivative": "laplace", "order": 2}},
                    "fields": {"p": of_p, "q": {"start": move(q), "next": rule}, "r": {"start": 0, "next": "r + p"}},
                    "receivers": [{"field": "p", "at": [20, 30]}, {"field": "q", "at": [5, 7]}],
                }, dtype=kept, engine="cuda")  # fmt: skip

            there, here = made(lambda each: each.clone()), made(host)
            for own in (there, here):
                own.step(7)
            same = [there, there.copy(), pickle.loads(pickle.dumps(there))]
            for own in same:
                for name in ("p", "q", "r"):
                    np.testing.assert_array_equal(own.field(name), here.field(name))
                np.testing.assert_array_equal(own.records(), here.records())
            with tempfile.TemporaryDirectory() as folder:
                path = os.path.join(folder, "starts.state")
                there.checkpoint(path)
                # Each is the problem of the other.
                here.resume(path)
        # A sum.
        of = lambda start: stencil.System({"fields": {"u": {"start": start, "next": "u/2"}}}, dtype=kept, engine="cuda")
        own = [of(p), of(host(p))]
        for each in own:
            each.step(2)
        np.testing.assert_array_equal(own[0].field(), own[1].field())
        for bad in (float("nan"), float("inf")):
            wrong = p.clone()
            wrong[111, 222] = bad
            for rule in ("u/2", "u*u/9"):
                try:
                    stencil.System({"fields": {"u": {"start": wrong, "next": rule}}}, dtype=kept, engine="cuda")
                except stencil.NotFiniteError as refused:
                    assert "(111, 222)" in str(refused), refused
                else:
                    raise AssertionError("a value that is not finite is taken")
    ok("torch: systems begin with values of the GPU, with the same bits, and they are looked at")
    # There is room for the values of the system, and for none beside them.
    for rule, arrays in (("u/2", 3.2), ("u*u/9", 2.6)):
        of = lambda start: stencil.System({"fields": {"u": {"start": start, "next": rule}}}, engine="cuda")
        u = torch.rand(16384, 16384, device="cuda")
        expected = of(u.cpu().numpy())
        expected.step(1)
        expected = expected.field("u")
        torch.cuda.empty_cache()
        free, _ = torch.cuda.mem_get_info()
        others = torch.empty(int(free - arrays * u.nbytes), dtype=torch.uint8, device="cuda")
        full = of(u)
        full.step(1)
        np.testing.assert_array_equal(full.field("u"), expected)
        del full, others, u
        torch.cuda.empty_cache()
    ok("torch: copies of what systems begin with leave the GPU where the room is needed")
    for rule in ("u/2", "u*u/9"):
        of = lambda start: stencil.System({"fields": {"u": {"start": start, "next": rule}}}, engine="cuda")
        there = torch.rand(8192, 8192, device="cuda")
        here = there.cpu().numpy()
        of(there).step(1), of(here).step(1)
        took, took_of_host = seconds(lambda: of(there).step(1)), seconds(lambda: of(here).step(1))
        print(f"a system of '{rule}' and a step, 8192²: {1e3 * took:.1f} ms with a tensor, {1e3 * took_of_host:.1f} with an array of numpy")
        assert took <= 1.1 * took_of_host, f"what '{rule}' begins with goes through the host"


def coefficients_of_systems(torch):
    """Coefficients of systems from tensors of the GPU: with the bits of arrays of the host, not by way of it, and looked at there."""
    stencils = {"laplace": {"derivative": "laplace", "order": 2}, "slope": {"derivative": "x", "order": 2}}
    for dtype in (torch.float32, torch.float64, torch.float16, torch.bfloat16):
        kept, (ny, nx) = str(dtype)[6:], (310, 403)
        host = lambda each: each.float().cpu().numpy() if dtype == torch.bfloat16 else each.cpu().numpy()
        a, b, u = (torch.rand(ny, nx + 5, device="cuda").to(dtype)[:, :nx] for _ in range(3))
        mask = (torch.rand(ny, nx, device="cuda") > 0.9).to(dtype)
        # Read where it is, around points, by a start, beside kept points, beside periodic sides.
        for rule, more in (
            ("u + 0.1*a*laplace(u)", {}),
            ("u + 0.1*slope(a)*slope(u) + 0.01*b*laplace(u)", {"start": "2*b"}),
            ("u + 0.1*a*laplace(u)*b", {"start": u, "keep": mask}),
            ("u + 0.1*slope(a)*u", {"boundary": "periodic"}),
        ):
            def made(move):
                field = {"start": u, "next": rule} | more
                field = {name: each if isinstance(each, str) else move(each) for name, each in field.items()}
                coefficients = {name: move(each) for name, each in (("a", a), ("b", b)) if name in rule.replace("slope", "").replace("laplace", "")}
                return stencil.System(
                    {"stencils": stencils, "coefficients": coefficients, "fields": {"u": field}}, size=(ny, nx), dtype=kept, engine="cuda"
                )

            there, here = made(lambda each: each.clone()), made(host)
            for own in (there, here):
                own.step(1), own.step(18)
            for own in (there, there.copy(), pickle.loads(pickle.dumps(there))):
                np.testing.assert_array_equal(own.field(), here.field(), err_msg=f"{kept} {rule}")
            for bad in (float("nan"), float("inf")):
                wrong = a.clone()
                wrong[111, 222] = bad
                try:
                    made(lambda each: wrong if each is a else each)
                except stencil.NotFiniteError as refused:
                    assert "(111, 222)" in str(refused), refused
                else:
                    raise AssertionError("a value that is not finite is taken")
    ok("torch: coefficients of systems are values of the GPU, with the same bits, and are looked at")
    of = lambda a: stencil.System({"coefficients": {"a": a}, "fields": {"u": {"start": 0, "next": "u*a/9 + a"}}}, dtype="f32", engine="cuda")
    there = torch.rand(16384, 16384, device="cuda")
    expected = of(there.cpu().numpy())
    expected.step(1)
    expected = expected.field("u")
    torch.cuda.empty_cache()
    free, _ = torch.cuda.mem_get_info()
    # Three arrays of the system, and room for none beside them.
    others = torch.empty(int(free - 3.6 * there.nbytes), dtype=torch.uint8, device="cuda")
    full = of(there)
    full.step(1)
    np.testing.assert_array_equal(full.field("u"), expected)
    del full, others, there
    torch.cuda.empty_cache()
    ok("torch: copies of coefficients leave the GPU where the room is needed")
    there = torch.rand(8192, 8192, device="cuda")
    here = there.cpu().numpy()
    of(there).step(1), of(here).step(1)
    took, took_of_host = seconds(lambda: of(there).step(1)), seconds(lambda: of(here).step(1))
    print(f"a system with a coefficient and a step, 8192²: {1e3 * took:.1f} ms with a tensor, {1e3 * took_of_host:.1f} with an array of numpy")
    assert took <= 1.1 * took_of_host, "a coefficient goes through the host"


def gradients_of_torch(_):
    """`stencil.torch.run` of tensors of the GPU beside that of the engine `cpu`."""
    try:
        import torch
    except ImportError:
        print("torch is not installed: gradients of torch are not tried")
        return
    import stencil.torch

    waves = {
        "grid": {"size": [40, 50], "dtype": "f64"}, "time": {"dt": 0.4},
        "stencils": {"laplace": {"derivative": "laplace", "order": 4}},
        "fields": {"p": {"start": 0, "next": "2*p - prev(p) + (c*dt)^2*laplace(p)"}},
        "sources": [{"field": "p", "at": [20, 10 + 9 * number]} for number in range(4)],
        "receivers": [{"field": "p", "at": [3, column]} for column in range(50)],
    }  # fmt: skip
    begin, c = torch.rand(40, 50, dtype=torch.float64), 0.8 + 0.2 * torch.rand(40, 50, dtype=torch.float64)
    wavelets = torch.rand(4, 60, dtype=torch.float64)[:, None, :] * torch.eye(4, dtype=torch.float64)[:, :, None]
    found = []
    for device, engine in (("cuda", "cuda"), ("cpu", "cpu")):
        inputs = [each.to(device).requires_grad_() for each in (begin, c, wavelets)]
        after = stencil.torch.run(
            waves, 60, fields={"p": inputs[0]}, coefficients={"c": inputs[1]}, sources=inputs[2], engine=engine
        )
        assert after.records.device.type == device and after.fields["p"].device.type == device
        value = after.records.square().sum() + after.fields["p"].pow(4).sum() + after.fields["p", 1].sum()
        found.append([value.detach().cpu(), *(each.cpu() for each in torch.autograd.grad(value, inputs))])
    for one, other in zip(*found, strict=True):
        assert ((one - other).abs().max() / other.abs().max()).item() < 1e-11
    ok("torch: gradients of four shots on the GPU are those of the engine cpu")


def objects(driver):
    """Systems of arrays of the GPU, changed between their steps, beside the engine `cpu`; a simulation's field, which never
    goes through the host."""
    try:
        import torch
    except ImportError:
        print("torch is not installed: systems of tensors are not tried")
        return
    u, past, v = (torch.rand(400, 600, device="cuda", dtype=torch.float64) for _ in range(3))

    def made(engine, move):
        return stencil.System({
            "time": {"dt": "0.25/r"},
            "constants": {"r": 1},
            "stencils": {"laplace": {"derivative": "laplace", "order": 2}},
            "coefficients": {"c": move(v)},
            "fields": {"p": {"start": move(u), "before": move(past), "keep": move((v > 0.9).double()),
                             "next": "2*p - prev(p) + (dt*c)^2*laplace(p) + 0.01*sin(t)"}},
            "totals": {"mass": "sum(p)"},
        }, engine=engine, totals_every=2)  # fmt: skip

    there, here = made("cuda", lambda each: each), made("cpu", lambda each: each.cpu().numpy())
    for own, move in [(there, lambda each: each), (here, lambda each: each.cpu().numpy())]:
        own.step(5)
        own.parameters["r"] = 2
        own.step(4)
        own["p"] = move(past)
        own["p", 1] = move(u)
        own["p"][3:50, ::2] = 0.5
        own.step(6)
    for other in [there, there.copy(), pickle.loads(pickle.dumps(there))]:
        other.step(3)
        if other is there:
            here.step(3)
        close(other.field("p"), here.field("p"), "float64", "a system of tensors")
        assert other.time == here.time and other.steps == 18
    close(there.series()["mass"], here.series()["mass"], "float64", "totals")
    before = there.field("p")
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "objects.state")
        there.checkpoint(path)
        there.step(2)
        there.resume(path)
    np.testing.assert_array_equal(there.field("p"), before)
    assert there.steps == 18
    ok("torch: a system of tensors, changed between steps, copied, pickled and kept")

    u = torch.rand(10240, 10240, device="cuda")
    simulation = stencil.Simulation("star2d1r", u, engine="cuda")
    simulation["u"] = u
    np.testing.assert_array_equal(simulation.field(), u.cpu().numpy())
    took = seconds(lambda: simulation.__setitem__("u", u))
    print(f"a field of {tuple(u.shape)} set from a tensor: {1e3 * took:.2f} ms")
    took = seconds(lambda: there.__setitem__("p", past))
    print(f"a field of a system of (400, 600) set from a tensor: {1e3 * took:.2f} ms")
    took = seconds(lambda: there.parameters.__setitem__("r", 2))
    fields_of_systems(torch)
    starts_of_systems(torch)
    coefficients_of_systems(torch)
    print(f"a parameter of it set: {1e3 * took:.2f} ms")


def filters(gpu):
    """`stencil.ndimage` of tensors: what it gives of arrays of the host, of any type, sides and axes; 300 random calls."""
    try:
        import torch
    except ImportError:
        return print("no torch, so no filters of it")
    from stencil import ndimage

    rng = np.random.default_rng(8)
    kinds = ["uint8", "int8", "int16", "int32", "int64", "float32", "float64"]
    modes = ["reflect", "constant", "nearest", "mirror", "wrap"]
    for number in range(300):
        ndim = int(rng.integers(1, 5))
        shape = tuple(int(rng.choice([1, 2, 3, 5, 17, 64, 131])) for _ in range(ndim - 1)) + (int(rng.choice([1, 4, 33, 256, 301])),)
        kind = str(rng.choice(kinds))
        u = (rng.random(shape) * 100 - (0 if kind == "uint8" else 50)).astype(kind)
        arguments = {"mode": str(rng.choice(modes)), "cval": float(rng.integers(-3, 9))}
        axis = int(rng.integers(ndim))
        name = str(rng.choice(["gaussian_filter", "uniform_filter", "correlate1d", "sobel", "correlate", "laplace", "gaussian_laplace", "gaussian_gradient_magnitude"]))
        if name == "gaussian_filter":
            arguments |= {"sigma": float(rng.choice([0.5, 1, 2, 6])), "axes": axis if ndim > 2 else None}
        elif name == "uniform_filter":
            arguments |= {"size": int(rng.integers(1, 12))}
        elif name == "correlate1d":
            arguments |= {"weights": rng.random(int(rng.integers(1, 40))) - 0.3, "axis": axis}
        elif name == "correlate":
            last = tuple(range(max(ndim - 2, 0), ndim))
            extents = [int(rng.integers(1, 16)) for _ in last]
            weights = rng.random(extents) - 0.3 if rng.random() < 0.6 else np.full(extents, 0.1)
            arguments |= {"weights": weights, "axes": last}
        elif name == "laplace":
            arguments |= {"axes": tuple(range(max(ndim - 3, 0), ndim))}
        elif name.startswith("gaussian_"):
            arguments |= {"sigma": 1.5, "axes": (axis,) if ndim > 3 else None}
        if rng.random() < 0.2 and name != "laplace":
            arguments |= {"output": np.dtype(str(rng.choice(kinds)))}
            kind = arguments["output"].name if "float" in arguments["output"].name else kind
        if kind.startswith("u") or "output" in arguments and u.dtype.kind == "f":
            # What C does with values below 0, or that are too large, as unsigned whole numbers is not defined.
            arguments.pop("output", None)
        here = getattr(ndimage, name)(u, **arguments)
        there = getattr(ndimage, name)(torch.from_numpy(u).cuda(), **arguments)
        assert isinstance(there, torch.Tensor)
        found = there.cpu().numpy()
        what = f"call {number}: {name} of {kind}{shape}, {arguments}"
        assert found.dtype == here.dtype and found.shape == here.shape, what
        if here.dtype.kind == "f":
            most = 100 * max(np.abs(np.asarray(arguments.get("weights", 1))).sum(), 8)
            terms = np.size(arguments.get("weights", np.ones(50)))
            unit = np.finfo("f4" if "float32" in (str(u.dtype), str(here.dtype)) else "f8").eps
            np.testing.assert_allclose(found, here, rtol=0, atol=(2 + terms**0.5) * unit * most, err_msg=what)
        else:
            np.testing.assert_array_equal(found, here, what)
    for shape in [(0, 3), (3, 0), (2, 0, 4)]:
        assert ndimage.uniform_filter(torch.empty(shape, device="cuda"), 3).shape == shape
    # In place, into an array, and of rows that are part of others.
    u = torch.rand(300, 400, device="cuda")
    expected = ndimage.gaussian_filter(u.cpu().numpy(), 2)
    part = ndimage.gaussian_filter(u[:, 7:261], 2)
    np.testing.assert_allclose(part.cpu(), ndimage.gaussian_filter(u.cpu().numpy()[:, 7:261], 2), atol=1e-6)
    into = torch.empty(300, 400, device="cuda")
    assert ndimage.gaussian_filter(u, 2, output=into) is into
    np.testing.assert_allclose(into.cpu(), expected, atol=1e-6)
    assert ndimage.gaussian_filter(u, 2, output=u) is u
    np.testing.assert_allclose(u.cpu(), expected, atol=1e-6)
    for kind in [torch.float16, torch.bfloat16]:
        half = torch.rand(70, 90, device="cuda").to(kind)
        found = ndimage.uniform_filter(half, 3)
        assert found.dtype == kind
        np.testing.assert_allclose(found.float().cpu(), ndimage.uniform_filter(half.float().cpu().numpy(), 3), atol=5e-3)
    # Small boxes of bytes, also of rows that begin at no word, and of values outside.
    image = torch.randint(0, 256, (301, 404), dtype=torch.uint8, device="cuda")
    for weights in [np.outer([1, 2, 1], [1, 2, 1]) / 16, rng.integers(-9, 9, (5, 8)) / 4, np.ones((7, 1)), np.full((2, 2), 0.25)]:
        for mode in modes:
            for of in [image, image[:, 4:], image[:, 1:397], image.flatten()[3 : 3 + 200 * 404].view(200, 404)]:
                found = ndimage.correlate(of, weights, mode=mode, cval=7)
                np.testing.assert_array_equal(found.cpu(), ndimage.correlate(of.cpu().numpy(), weights, mode=mode, cval=7))
    # A filter waits for what its stream was asked for, and that stream for the filter.
    stream = torch.cuda.Stream()
    late = torch.zeros(6000, 6000, device="cuda")
    torch.cuda.synchronize()
    with torch.cuda.stream(stream):
        torch.cuda._sleep(50_000_000)
        late.fill_(3)
        doubled = 2 * ndimage.uniform_filter(late, 5)
    stream.synchronize()
    torch.testing.assert_close(doubled, torch.full_like(late, 6))
    try:
        import cupy
    except ImportError:
        cupy = None
    if cupy:
        v = cupy.random.random((130, 170), dtype="f4")
        found = ndimage.gaussian_filter(v, 2)
        assert isinstance(found, cupy.ndarray)
        np.testing.assert_allclose(cupy.asnumpy(found), ndimage.gaussian_filter(cupy.asnumpy(v), 2), atol=1e-6)
        found = ndimage.gaussian_gradient_magnitude(v[::2], 2)
        np.testing.assert_allclose(cupy.asnumpy(found), ndimage.gaussian_gradient_magnitude(cupy.asnumpy(v)[::2], 2), atol=1e-6)
    ok("torch: 300 filters of tensors, and others in place, of bytes, in streams")

    u = torch.rand(8192, 8192, device="cuda")
    into = torch.empty_like(u)
    copied = seconds(lambda: (into.copy_(u), torch.cuda.synchronize()))
    weights = rng.random((15, 15))
    for name, call in [
        ("gaussian 2", lambda: ndimage.gaussian_filter(u, 2, output=into)),
        ("gaussian 8", lambda: ndimage.gaussian_filter(u, 8, output=into)),
        ("uniform 5", lambda: ndimage.uniform_filter(u, 5, output=into)),
        ("correlate 15 x 15", lambda: ndimage.correlate(u, weights, output=into)),
    ]:
        took = seconds(lambda: ([call() for _ in range(10)], torch.cuda.synchronize())) / 10
        print(f"ten times {name} of {tuple(u.shape)} float32: {1e3 * took:.2f} ms, {u.numel() / took / 1e9:.0f} GPoint/s, {copied / took:.2f} of a copy")


if __name__ == "__main__":
    engines()
    gpu = Driver()
    for part in [by_hand, keeps_memory, times, with_torch, with_cupy, objects, gradients_of_torch, filters]:
        part(gpu)
    print("all right")
