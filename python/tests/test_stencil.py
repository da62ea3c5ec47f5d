# SPDX-License-Identifier: MIT OR Apache-2.0
"""The package on the CPU."""

import _thread
import doctest
import inspect
import signal
import threading
import time

import numpy as np
import pytest
import stencil
from oracle import MODES, noise, plain


@pytest.mark.parametrize("boundary", MODES)
@pytest.mark.parametrize("shape", [(50,), (23, 31), (9, 12, 17)])
def test_steps_are_those_of_plain_loops(shape, boundary):
    # Symmetric or not, with weights that tell each neighbour from the others.
    weights = noise(*[3, 5, 3][: len(shape)]) / 20
    u = noise(*shape)
    found = stencil.run(weights, u, 5, boundary=boundary, engine="cpu", verify="full")
    np.testing.assert_allclose(found, plain(weights, u, 5, boundary), rtol=1e-13, atol=1e-15)


@pytest.mark.parametrize(
    "dtype, tolerance", [(np.float16, 1e-2), (np.float32, 1e-6), (np.float64, 1e-14)]
)
def test_arrays_of_each_type_come_back_as_they_are(dtype, tolerance):
    u = noise(20, 30, dtype=dtype)
    before = u.copy()
    found = stencil.run("star2d1r", u, 3, engine="cpu")
    assert found.dtype == dtype and found.shape == u.shape and found.flags.c_contiguous
    np.testing.assert_array_equal(u, before)
    expected = plain(stencil.weights("star2d1r"), u, 3)
    np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance)


def test_any_order_of_values_is_taken():
    u = noise(20, 30)
    whole = stencil.run("star2d1r", u, 2, engine="cpu")
    for same in [np.asfortranarray(u), np.repeat(u, 2, axis=1)[:, ::2], u[::-1][::-1], u.tolist(), u.astype(">f8")]:
        np.testing.assert_array_equal(stencil.run("star2d1r", same, 2, engine="cpu"), whole)
    turned = stencil.run("star2d1r", u.T, 2, engine="cpu")
    np.testing.assert_allclose(turned, whole.T, rtol=1e-14)
    counts = stencil.run("star2d1r", np.full((8, 8), 3, np.uint8), 1, boundary="periodic", engine="cpu")
    assert counts.dtype == np.float32 and (counts == 3).all()
    assert stencil.run("star2d1r", [[1, 2], [3, 4]], 0, engine="cpu").dtype == np.float64


class Foreign:
    """An array of another library, which gives its memory by DLPack only."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **asked):
        return self.array.__dlpack__(**asked)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


def test_arrays_of_other_libraries_are_taken_by_dlpack():
    u = noise(20, 30)
    for same in [u, u[::2, ::-1], u.T]:
        found = stencil.run("star2d1r", Foreign(same), 2, engine="cpu")
        np.testing.assert_array_equal(found, stencil.run("star2d1r", same, 2, engine="cpu"))
    assert np.shares_memory(np.from_dlpack(found), found)


def test_bf16_is_of_ml_dtypes():
    ml_dtypes = pytest.importorskip("ml_dtypes")
    u = noise(20, 30).astype(ml_dtypes.bfloat16)
    found = stencil.run("star2d1r", u, 1, engine="cpu")
    assert found.dtype == ml_dtypes.bfloat16
    expected = plain(stencil.weights("star2d1r"), u, 1)
    np.testing.assert_allclose(found.astype(np.float64), expected, atol=8e-3)
    assert stencil.run("star2d1r", noise(9, 9), 1, dtype="bf16", engine="cpu").dtype == ml_dtypes.bfloat16


def test_a_simulation_takes_steps_and_shows_its_field():
    u = noise(40, 50)
    simulation = stencil.Simulation("star2d1r", u, boundary="reflect", engine="cpu")
    assert (simulation.steps, simulation.fields) == (0, ["u"])
    simulation.step(3)
    simulation.step()
    expected = plain(stencil.weights("star2d1r"), u, 4, "reflect")
    np.testing.assert_allclose(simulation.field(), expected, rtol=1e-13)
    seen = [now.steps for now in simulation.observe(steps=8, every=3)]
    assert seen == [6, 9, 12]
    assert [now.steps for now in simulation.observe(steps=4, every=3)] == [15] and simulation.steps == 16
    np.testing.assert_array_equal(simulation.field("u"), stencil.run("star2d1r", u, 16, boundary="reflect", engine="cpu"))
    report = simulation.report()
    assert report["engine"] == "cpu" and report["steps"] == 16
    assert "engine     cpu" in str(simulation)


def test_the_emulator_computes_what_a_gpu_would():
    u = noise(24, 24, dtype=np.float16)
    found = stencil.run("star2d1r", u, 1, engine="emulate", verify="full")
    np.testing.assert_allclose(found, plain(stencil.weights("star2d1r"), u, 1), atol=1e-3)


def test_systems_have_several_fields():
    assert "gray-scott" in stencil.examples()
    spots = stencil.System("gray-scott", engine="cpu")
    assert [now.steps for now in spots.observe(4, 2)] == [2, 4]
    u, v = (spots.field(name) for name in spots.fields)
    assert u.shape == v.shape and np.isfinite(u).all() and u.max() > 10 * v.min()
    assert spots.report()["steps"] == 4


def test_a_system_of_a_text(tmp_path):
    text = """
title = "Heat in a rod"
[grid]
size = [31]
spacing = "1/32"
dtype = "f64"
[time]
dt = "0.25*h^2"
steps = 100
[stencils]
laplace = { derivative = "xx", order = 2 }
[fields.u]
start = "sin(pi*(x + h))"
next = "u + dt*laplace(u)"
"""
    path = tmp_path / "rod.toml"
    path.write_text(text)
    rod = stencil.System(path, engine="cpu")
    rod.step(100)
    exact = np.cos(np.pi / 64) ** 200
    assert abs(rod.field("u")[15] - exact) < 1e-12
    same = stencil.System(text, engine="cpu")
    same.step(100)
    np.testing.assert_array_equal(same.field("u"), rod.field("u"))


def test_plans_are_ranked():
    planned = stencil.plan("star2d3r", (10240, 10240), 1, machine="h200")
    first, second = planned["ranked"][:2]
    assert first["engine"] == "sparse" and first["seconds_per_step"] <= second["seconds_per_step"]
    assert all(other["engine"] for other in planned["rejected"])
    small = stencil.plan("star2d1r", (64, 64), 10, dtype=np.float64)
    assert small["ranked"][-1]["engine"] == "cpu"


def test_what_grows_is_told_with_its_step():
    with pytest.raises(stencil.NotFiniteError) as caught:
        stencil.run(np.array([0.0, 2.0, 0.0]), np.ones(10, np.float16), 40, engine="cpu")
    assert caught.value.facts["step"] == 16 and caught.value.facts["value"] == np.inf


def test_other_threads_run_while_steps_are_taken():
    simulation = stencil.Simulation("star2d1r", noise(256, 256), engine="cpu")
    beats, done = [], threading.Event()

    def beat():
        while not done.wait(0.005):
            beats.append(time.perf_counter())

    other = threading.Thread(target=beat)
    other.start()
    start = time.perf_counter()
    while time.perf_counter() - start < 0.4:
        simulation.step(20)
    done.set()
    other.join()
    assert len(beats) > 10


def test_an_interrupt_ends_the_steps_and_leaves_a_simulation():
    simulation = stencil.Simulation("star2d1r", noise(64, 64), engine="cpu")
    # Who starts the tests in the background has them ignore interrupts, and nothing would end the steps.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        threading.Timer(0.3, _thread.interrupt_main).start()
        start = time.perf_counter()
        with pytest.raises(KeyboardInterrupt):
            simulation.step(10**12)
        assert time.perf_counter() - start < 5
    finally:
        signal.signal(signal.SIGINT, before)
    done = simulation.steps
    assert 0 < done < 10**12
    simulation.step(10)
    assert simulation.steps == done + 10


def test_a_simulation_may_be_used_and_dropped_by_any_thread():
    made = []
    maker = threading.Thread(target=lambda: made.append(stencil.Simulation("star1d1r", noise(100), engine="cpu")))
    maker.start()
    maker.join()
    made[0].step(5)
    assert made.pop().steps == 5


PUBLIC = [name for name in stencil.__all__ if callable(getattr(stencil, name))]


def documented():
    """Whatever has a docstring: what is public, and what its classes have that is."""
    yield "stencil", inspect.getdoc(stencil)
    for name in PUBLIC:
        own = getattr(stencil, name)
        yield name, inspect.getdoc(own)
        if inspect.isclass(own) and not issubclass(own, Exception):
            for part, each in inspect.getmembers(own, lambda each: callable(each) or inspect.isdatadescriptor(each)):
                if not part.startswith("_") and each.__doc__:
                    yield f"{name}.{part}", inspect.getdoc(each)


@pytest.mark.parametrize("name, text", list(documented()), ids=lambda value: value if len(value) < 40 else "")
def test_the_examples_of_the_docstrings_are_right(name, text, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    example = doctest.DocTestParser().get_doctest(text, {}, name, None, None)
    told = []
    failed, tried = doctest.DocTestRunner().run(example, out=told.append)
    assert failed == 0, "".join(told)
    assert tried or name not in EXEMPLARY, name


# What has an example.
EXEMPLARY = {
    "stencil", "run", "plan", "Simulation", "System", "Field", "Parameters", "catalogue", "examples", "weights",
    *(f"{own}.{part}" for own in ["Simulation", "System"] for part in [
        "step", "observe", "field", "fields", "steps", "time", "shape", "checkpoint", "resume", "save", "picture", "copy",
        "to_xarray", "records", "totals", "report",
    ]),
    "System.parameters", "System.series",
}  # fmt: skip
