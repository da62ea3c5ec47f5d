# SPDX-License-Identifier: MIT OR Apache-2.0
"""Systems of arrays, functions and expressions, changed between their steps: beside loops over numpy arrays in float64."""

import copy
import itertools
import os
import pathlib
import pickle
import re
import sys
import types

import numpy as np
import pytest
import stencil
from oracle import MODES, noise


class Foreign:
    """An array of another library, which gives its memory by DLPack only."""

    def __init__(self, array):
        self.array, self.shape = array, array.shape

    def __dlpack__(self, **asked):
        return self.array.__dlpack__(**asked)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


AXES = "zyx"
K = 0.375


def described(case):
    """Two fields, one of which is read one step back, with a coefficient, kept points, a total and a receiver."""
    dims = len(case["shape"])
    return {
        "title": "two fields",
        "grid": {"size": case["shape"], "spacing": case["h"], "dtype": case["dtype"]},
        "time": {"dt": case["dt"]},
        "constants": {"k": K, "twice": "2*k"},
        "stencils": {"laplace": {"derivative": "laplace", "order": 2}},
        "coefficients": {"c": case["c"], "m": {"start": case["m"]}},
        "fields": {
            "u": {
                "start": case["u"],
                "before": case["before"],
                "boundary": case["boundary"],
                "next": "2*u - prev(u) + (dt*c)^2*laplace(u) + twice*v/2",
            },
            "v": {"start": case["v"], "keep": case["keep"], "next": "v + dt*(u - v)*m + 0.01*sin(t)"},
        },
        "totals": {"mass": "sum(u)", "top": "max(v)"},
        "receivers": [{"field": "u", "at": [0] * dims}, {"field": "v", "at": [n - 1 for n in case["shape"]]}],
    }


def laplace(u, boundary, h):
    padded = np.pad(u, 1, **MODES[boundary])
    inner = [slice(1, -1)] * u.ndim
    found = -2 * u.ndim * u
    for axis, side in itertools.product(range(u.ndim), [slice(0, -2), slice(2, None)]):
        found = found + padded[tuple(side if own == axis else each for own, each in enumerate(inner))]
    return found / h**2


def advanced(state, case, k, steps, first=0, time=0.0, dt=None):
    """What the equations make of (u, u one step before, v)."""
    u, past, v = state
    dt = case["dt"] if dt is None else dt
    for step in range(steps):
        now = time + (step + first) * dt
        later = 2 * u - past + (dt * case["c"]) ** 2 * laplace(u, case["boundary"], case["h"]) + k * v
        v = np.where(case["keep"], v, v + dt * (u - v) * case["m"] + 0.01 * np.sin(now))
        u, past = later, u
    return u, past, v


def drawn(seed):
    random = np.random.default_rng(seed)
    dims = int(random.integers(1, 4))
    shape = tuple(int(n) for n in random.integers(3, [40, 14, 8][dims - 1], dims))
    values = lambda: random.random(shape)  # noqa: E731
    return {
        "shape": shape,
        "h": float(random.choice([1.0, 0.5])),
        "dtype": "f64",
        "dt": 0.125,
        "c": values(),
        "m": values(),
        "u": values(),
        "before": values(),
        "v": values(),
        "keep": values() < 0.3,
        "boundary": str(random.choice(list(MODES))),
    }


def close(found, expected, tolerance=1e-12):
    np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("seed", range(40))
def test_random_systems_of_arrays_step_as_loops_do(seed):
    case = drawn(seed)
    own = stencil.System(described(case), engine="cpu", totals_every=2)
    state = case["u"], case["before"], case["v"]
    for name, expected in zip(["u", "v"], [state[0], state[2]]):
        np.testing.assert_array_equal(own.field(name), expected)
    np.testing.assert_array_equal(own["u", 1][:], case["before"])
    own.step(3)
    state = advanced(state, case, K, 3)
    close(own.field("u"), state[0])
    close(own["u", 1], state[1])
    close(own["v"], state[2])
    close(own.totals()["mass"], state[0].sum())
    assert own.records().shape == (4, 3) and own.records()[3, 1] == own["u"][(0,) * own["u"].ndim]
    assert own.series().dtype.names == ("step", "time", "mass", "top") and own.series()["step"].tolist() == [0, 2]

    # Another value of a parameter from here on.
    own.parameters["k"] = 0.25
    own.step(2)
    state = advanced(state, case, 0.25, 2, first=3)
    close(own.field("u"), state[0])
    close(own.field("v"), state[2])

    # Other values from here on, of all levels.
    random = np.random.default_rng(seed + 1000)
    state = [random.random(case["shape"]) for _ in range(3)]
    own["u"], own["u", 1], own["v"] = state
    part = tuple(slice(1, None, 2) for _ in case["shape"])
    own["v"][part] = 0.5
    state[2][part] = 0.5
    copied = own.copy()
    own.step(3)
    close(own.field("u"), advanced(state, case, 0.25, 3, first=5)[0])
    copied.step(3)
    for name in own.fields:
        np.testing.assert_array_equal(copied.field(name), own.field(name))
    np.testing.assert_array_equal(copied.records(), own.records())
    np.testing.assert_array_equal(copied.series(), own.series())
    assert copied.parameters == own.parameters == {"k": 0.25, "twice": 0.5}


def test_a_change_of_parameters_is_a_run_with_them_from_that_state():
    case = drawn(3)
    own = stencil.System(described(case), engine="cpu")
    own.step(4)
    state = [own.field("u"), own["u", 1][:], own.field("v")]
    own.parameters = {"k": 0.125}
    own.step(5)
    # Their time differs, and so does a term of it: that is left out.
    text = described({**case, "u": state[0], "before": state[1], "v": state[2]})
    text["fields"]["v"]["next"] = "v + dt*(u - v)*m + 0.01*sin(t + 4*dt)"
    other = stencil.System(text, parameters={"k": 0.125}, engine="cpu")
    other.step(5)
    close(own.field("u"), other.field("u"), 1e-14)
    close(own.field("v"), other.field("v"), 1e-14)


def test_another_length_of_steps_goes_on_in_time():
    text = {
        "grid": {"size": [5], "dtype": "f64"},
        "time": {"dt": "0.5/r"},
        "constants": {"r": 1},
        "fields": {"u": {"start": 0, "next": "u + dt*t"}},
    }
    own = stencil.System(text, engine="cpu")
    own.step(2)
    own.parameters["r"] = "2*2"
    assert own.time == 1.0 and own.parameters["r"] == 4
    own.step(2)
    assert own.time == 1.25
    expected = 0.5 * (0 + 0.5) + 0.125 * (1 + 1.125)
    assert own.field()[0] == expected
    again = pickle.loads(pickle.dumps(own))
    assert again.time == 1.25
    again.step()
    assert again.field()[0] == expected + 0.125 * 1.25


def test_arrays_functions_and_expressions_are_the_same():
    y, x = np.meshgrid(np.arange(7) * 0.5, np.arange(9) * 0.25, indexing="ij")
    starts = [
        np.sin(x) * y,
        Foreign(np.sin(x) * y),
        (np.sin(x) * y).tolist(),
        lambda x, y: np.sin(x) * y,
        lambda y, x: np.sin(x) * y,
        lambda y, x, t=0: np.sin(x) * y + t,
        "sin(x)*y",
    ]
    masks = [x > 1, Foreign((x > 1).astype("u1")), lambda x: x > 1, "x > 1"]
    found = []
    for start, mask in itertools.zip_longest(starts, masks, fillvalue=masks[0]):
        text = {
            "grid": {"size": [7, 9], "spacing": [0.5, 0.25], "dtype": "f64", "solid": mask},
            "coefficients": {"c": start},
            "fields": {"u": {"start": start, "keep": mask, "next": "0.5*u + c"}, "w": {"start": start, "next": "w + c"}},
        }
        own = stencil.System(text, engine="cpu")
        own.step(2)
        found.append([own.field("u"), own.field("w")])
    for each in found[1:]:
        close(each, found[0], 1e-15)
    assert (found[0][1][:, 5:] == 0).all() and (found[0][1][1:, 1:4] > 0).all()


def by_position(a, b, /):
    return 10 * a + b


def by_name(x, y, /, *, t):
    return 10 * y + x + t


def test_functions_are_called_as_they_can_be():
    line = lambda start: stencil.System({"grid": {"size": [5], "dtype": "f64"},  # noqa: E731
                                         "fields": {"u": {"start": start, "next": "u"}}}, engine="cpu").field()  # fmt: skip
    plane = lambda start: stencil.System({"grid": {"size": [3, 5], "dtype": "f64"},  # noqa: E731
                                          "fields": {"u": {"start": start, "next": "u"}}}, engine="cpu").field()  # fmt: skip
    x, y = np.arange(5.0), np.arange(3.0)[:, None]
    close(line(np.sin), np.sin(x))
    close(plane(np.arctan2), np.arctan2(y, x))
    close(line(np.vectorize(lambda x: x + 1 if x > 2 else 0)), np.where(x > 2, x + 1, 0))
    close(plane(np.vectorize(lambda x, y: 10 * y + x)), 10 * y + x)
    close(line(np.frompyfunc(lambda a: a + 1, 1, 1)), x + 1)
    close(plane(by_position), 10 * y + x)
    close(plane(by_name), 10 * y + x)
    close(plane(lambda x, *rest, **more: x), x + 0 * y)
    close(plane(lambda: 3), np.full((3, 5), 3))
    nobody_knows = [np.sin, np.hypot.reduce, lambda *all: 1, lambda **all: 1, np.vectorize(lambda a: a), np.modf, max]
    for wrong in [*nobody_knows, lambda a, /: a]:
        with pytest.raises(stencil.InputError, match="nobody knows what to call this function with") as caught:
            plane(wrong)
        assert caught.value.help.startswith("name its arguments after coordinates: of y, x")
    with pytest.raises(stencil.InputError, match="gives what are no numbers"):
        plane(lambda x: np.array(["a"], object))
    own = simulation()
    own["u"] = np.arctan2
    assert own["u"][3, 0] == np.float64(np.pi / 2)


def test_examples_take_arrays_in_the_place_of_what_they_say():
    u, v = noise(20, 30, dtype="f4"), noise(20, 30, dtype="f4") / 4
    own = stencil.System("gray-scott", fields={"u": u, "v": {"start": v, "boundary": "edge"}},
                         parameters={"feed": 0.04, "kill": "feed + 0.02"}, dt=0.5, engine="cpu")  # fmt: skip
    assert own.shape == (20, 30) and own.parameters["kill"] == pytest.approx(0.06)
    own.step(2)
    a, b = u.astype("f8"), v.astype("f8")
    for _ in range(2):
        reaction = a * b**2
        a, b = (a + 0.5 * (0.16 * laplace(a, "periodic", 1) - reaction + 0.04 * (1 - a)),
                b + 0.5 * (0.08 * laplace(b, "edge", 1) + reaction - 0.1 * b))  # fmt: skip
    close(own.field("u"), a, 1e-6)
    close(own.field("v"), b, 1e-6)
    assert own.field("u").dtype == np.float32 and own.time == 1.0


def test_element_types_are_those_of_the_arrays():
    text = lambda array: {"fields": {"u": {"start": array, "next": "u/2"}}}  # noqa: E731
    for dtype in ["f2", "f4", "f8"]:
        own = stencil.System(text(np.ones(4, dtype)), engine="cpu")
        assert own.field().dtype == np.dtype(dtype)
    assert stencil.System(text(np.ones(4, "i8")), engine="cpu").field().dtype == np.float32
    assert stencil.System(text(np.ones(4)), dtype=np.float32, engine="cpu").field().dtype == np.float32
    assert stencil.System({**text(np.ones(4)), "grid": {"dtype": "f16"}}, engine="cpu").field().dtype == np.float16


def test_arrays_that_were_given_may_change():
    u = np.ones((4, 4))
    own = stencil.System({"coefficients": {"c": u}, "fields": {"u": {"start": u, "next": "u + c"}}}, engine="cpu")
    u[:] = 7
    own.parameters.update({})
    own["u"] = own["u"] + 1
    own.step()
    assert (own.field() == 3).all()
    again = pickle.loads(pickle.dumps(own))
    again.step()
    assert (again.field() == 4).all()


def simulation(**options):
    return stencil.Simulation("star2d1r", noise(12, 15), boundary="reflect", engine="cpu", **options)


def test_fields_of_a_simulation_are_read_and_changed():
    own = simulation()
    own.step(2)
    own["u"] = np.zeros((12, 15), "f4")
    own["u"][3:5, ::2] = 8
    own["u"][0] += 1
    own["u"] += 0.5
    expected = np.zeros((12, 15))
    expected[3:5, ::2] = 8
    expected[0] += 1
    expected += 0.5
    np.testing.assert_array_equal(own["u"], expected)
    np.testing.assert_array_equal(np.asarray(own), expected)
    assert own.steps == 2
    own.step(3)
    np.testing.assert_array_equal(own, stencil.run("star2d1r", expected, 3, boundary="reflect", engine="cpu"))
    own["u"] = Foreign(expected)
    np.testing.assert_array_equal(own["u"][2], expected[2])
    own["u"] = lambda x, y: x + 10 * y
    assert own["u"][3, 4] == 34
    own["u"] = 2
    assert (own["u"] == 2).all() and own["u"].shape == (12, 15) and len(own["u"]) == 12
    assert np.mean(own["u"]) == 2 and (np.add(own["u"], 1) == 3).all() and own["u"].dtype == np.float64
    own["u"] = own["u"]
    assert "12x15" in repr(own["u"])


@pytest.mark.parametrize("dtype", ["f16", "bf16", "f32", "f64"])
def test_fields_are_where_numpy_computes_to(dtype):
    if dtype == "bf16":
        pytest.importorskip("ml_dtypes")
    own = stencil.Simulation("star2d1r", noise(12, 15, dtype="f4"), dtype=dtype, engine="cpu")
    values = own.field()
    mask = values > 0.5
    found = np.add(own["u"], 1, out=own["u"], where=mask)
    assert isinstance(found, stencil.Field)
    np.add(values, 1, out=values, where=mask)
    np.testing.assert_array_equal(own["u"], values)
    np.multiply(values, 2, out=own["u"], where=own["u"] < 1)
    np.multiply(values, 2, out=values, where=values < 1)
    np.testing.assert_array_equal(own["u"], values)
    assert np.add.at(own["u"], ([1, 1, 2], [3, 3, 4]), 5) is None
    np.add.at(values, ([1, 1, 2], [3, 3, 4]), 5)
    np.testing.assert_array_equal(own["u"], values)
    own["u"] *= noise(12, 15).astype(values.dtype)
    values *= noise(12, 15).astype(values.dtype)
    np.testing.assert_array_equal(own["u"], values)
    target = np.zeros((12, 15), values.dtype)
    assert np.negative(own["u"], out=target) is target and (target == -values).all()
    assert np.add.reduce(own["u"], axis=None) == np.add.reduce(values, axis=None)


def test_several_results_go_where_they_are_asked_for():
    own = stencil.System("gray-scott", size=(16, 16), engine="cpu")
    own["u"], own["v"] = (lambda x: 0.25 + x), 7
    part, whole = np.modf(own["u"])
    np.modf(own["u"], out=(own["u"], own["v"]))
    np.testing.assert_array_equal(own["u"], part)
    np.testing.assert_array_equal(own["v"], whole)
    found, target = np.modf(own["v"], out=(None, own["u"]))
    assert not found.any() and (own["u"][:] == whole).all() and isinstance(target, stencil.Field)
    kept = np.zeros((16, 16), "f4")
    assert np.divmod(own["v"], 4, out=(kept, own["u"]))[0] is kept and own["u"][3, 7] == 3 and kept[3, 7] == 1


def test_fields_have_what_arrays_have():
    own = simulation()
    values, field = own.field(), own["u"]
    assert field.max() == values.max() and field.mean(axis=0).tolist() == values.mean(axis=0).tolist()
    assert (field.T == values.T).all() and field.astype("f4").dtype == np.float32 and field.tolist() == values.tolist()
    copied = field.copy()
    copied[0] = 3
    np.testing.assert_array_equal([row for row in field], values)
    for call in [lambda: field.fill(1), lambda: field.sort(), lambda: field.T.__setitem__(0, 1), lambda: field.put([0], 3)]:
        with pytest.raises(ValueError, match="read-only"):
            call()
    for name in ["maxx", "_shape", "__array_interface__"]:
        with pytest.raises(AttributeError, match=f"a field has no attribute '{name}'"):
            getattr(field, name)
    assert np.max(field) == values.max() and np.sum(field) == values.sum() and np.sort(field).shape == (12, 15)
    np.testing.assert_array_equal(own["u"], values)


def test_parts_of_fields_take_what_whole_fields_take():
    own = simulation()
    own["u"][2:4] = Foreign(np.full((2, 15), 3.0))
    own["u"][...] += Foreign(np.ones(15)).array
    own["u"][5] = own["u"][2]
    own["u"][6, :2] = [8, 9]
    assert own["u"][3, 4] == 4 and own["u"][5, 14] == 4 and own["u"][6, :2].tolist() == [8, 9]
    own["u"][...] = Foreign(np.full((12, 15), 2.0))
    assert (own["u"] == 2).all()
    for wrong, text, help in [
        (np.ones(3), "values of shape (3,) are given for a part of the field 'u', whose shape is (2, 15)", "give an array of that"),
        (Foreign(np.ones(3)), "values of shape (3,) are given", "give an array of that shape"),
        ([[1, 2], [3]], "a part of the field 'u': ", "give an array, lists of one length, or a number"),
        (lambda x: x, "a function is given for a part", "compute its values, or set the whole field"),
        ("sin(x)", "the text 'sin(x)' is given for a part of the field 'u'", "an expression is for the start"),
    ]:
        with pytest.raises(stencil.InputError) as caught:
            own["u"][2:4] = wrong
        assert text in str(caught.value) and caught.value.help.startswith(help)
    with pytest.raises(stencil.InputError, match="expression is for the start.*give a function"):
        own["u"] = "sin(x)"
    with pytest.raises(IndexError):
        own["u"][99] = 1
    assert (own["u"] == 2).all()


def test_a_dict_of_boundaries_may_change():
    sides = {"x": "periodic"}
    own = stencil.Simulation("star2d1r", noise(12, 15), boundary=sides, engine="cpu")
    sides["x"] = "no kind"
    other = own.copy()
    own.step(3)
    other.step(3)
    np.testing.assert_array_equal(own, other)
    assert "no kind" not in repr(own)


def test_functions_of_earlier_levels_are_of_their_time():
    text = {
        "grid": {"size": [6], "dtype": "f64"},
        "time": {"dt": 0.125},
        "fields": {"u": {"start": 0, "before": 0, "next": "2*u - prev(u)"}},
    }
    own = stencil.System(text, engine="cpu")
    own.step(3)
    own["u"], own["u", 1] = (lambda x, t: x + t), (lambda x, t: x + t)
    assert own["u"][2] == 2.375 and own["u", 1][2] == 2.25
    own.step()
    assert own["u"][2] == 2.5
    text["time"] = {"dt": "0.1/max(abs(u) + 1)", "dt_every": 1, "steps": 9}
    own = stencil.System(text, engine="cpu")
    own["u"] = lambda x, t: x + t
    with pytest.raises(stencil.InputError, match="the time of the field 'u' 1 steps before is not known") as caught:
        own["u", 1] = lambda x, t: x + t
    assert caught.value.help == "give an array"


def test_copies_and_pickles_go_on_with_the_same_bits():
    for own in [simulation(), simulation(dtype="f32", portions=3), stencil.System("gray-scott", size=(20, 24), engine="cpu")]:
        own.step(5)
        ways = [copy.copy(own), copy.deepcopy(own), own.copy()]
        ways += [pickle.loads(pickle.dumps(own, protocol)) for protocol in range(pickle.HIGHEST_PROTOCOL + 1)]
        own.step(7)
        for other in ways:
            assert other.steps == 5 and type(other) is type(own)
            other.step(7)
            for name in own.fields:
                np.testing.assert_array_equal(other.field(name), own.field(name))
                assert other.field(name).dtype == own.field(name).dtype
        # Each by itself.
        ways[0][own.fields[0]] = 0
        assert own.field().any() and repr(ways[1]) == repr(own)


@pytest.mark.parametrize("dtype", ["f16", "bf16", "f32", "tf32", "f64"])
def test_pickles_keep_every_type(dtype):
    try:
        own = stencil.Simulation("star2d1r", noise(32, 32, dtype="f4"), dtype=dtype, engine="cpu")
    except stencil.InputError:
        pytest.skip("no type of this engine")
    own.step(3)
    other = pickle.loads(pickle.dumps(own))
    own.step(3)
    other.step(3)
    np.testing.assert_array_equal(np.asarray(other, "f8"), np.asarray(own, "f8"))


def test_checkpoints_are_gone_on_from(tmp_path):
    for make in [simulation, lambda: stencil.System("gray-scott", size=(20, 24), engine="cpu")]:
        own, path = make(), tmp_path / "state"
        own.step(5)
        own.checkpoint(path)
        own.step(6)
        other = make()
        other.resume(path)
        assert other.steps == 5
        other.step(6)
        for name in own.fields:
            np.testing.assert_array_equal(other.field(name), own.field(name))
        with pytest.raises(stencil.InputError, match="this is a checkpoint of") as caught:
            stencil.Simulation("star2d1r", noise(8, 8), engine="cpu").resume(path)
        assert "make the simulation as" in caught.value.help
        assert path.stat().st_size > 0 and os.listdir(tmp_path) == ["state"]
        path.unlink()
    with pytest.raises(stencil.FileError):
        own.resume(tmp_path / "nothing")
    with pytest.raises(stencil.FileError):
        own.checkpoint(tmp_path / "no" / "folder")


def test_fields_are_written_in_every_format(tmp_path):
    own = stencil.System("gray-scott", size=(20, 24), engine="cpu")
    own.step(3)
    [name] = own.save(tmp_path / "one_{step:04}.npy", fields="v", stride=2)
    assert name == str(tmp_path / "one_0003.npy")
    np.testing.assert_array_equal(np.load(name), own.field("v")[::2, ::2])
    names = own.save(tmp_path / "{field}.npy")
    assert [os.path.basename(each) for each in names] == ["u.npy", "v.npy"]
    for each in ["both.vti", "both.nc", "v_{field}.png"]:
        assert all(os.path.getsize(name) > 0 for name in own.save(str(tmp_path / each)))
    for call, text, help in [
        (lambda: own.save(tmp_path / "one.npy"), "one file cannot hold 'u' and 'v'", "put {field} into"),
        (lambda: own.save(tmp_path / "one.docx"), "docx", "name a file that ends"),
        (lambda: own.save(tmp_path / "u_{step.vti"), "is no placeholder", "put {field}"),
        (lambda: own.save(tmp_path / "u.vti", fields=["w"]), "'w'", "ask for one of u, v"),
        (lambda: own.save(tmp_path / "u.png", fields="u", colours="magm"), "magm", "did you mean"),
        (lambda: own.save(tmp_path / "u.png", fields="u", range="x"), "range: ", "a slice is written"),
        (lambda: own.save(tmp_path / "u.vti", slice="q=3"), "slice", "a slice is written"),
        (lambda: own.save(tmp_path / "u.vti", stride=0), "stride=0", "give stride"),
    ]:  # fmt: skip
        with pytest.raises(stencil.InputError) as caught:
            call()
        assert text in str(caught.value) and caught.value.help.startswith(help), str(caught.value)
    with pytest.raises(stencil.FileError):
        own.save(tmp_path / "no" / "u.vti")


def test_datasets_have_coordinates():
    pytest.importorskip("xarray")
    case = {**drawn(5), "h": 0.5}
    own = stencil.System(described(case), totals_every=1, engine="cpu")
    own.step(3)
    found = own.to_xarray()
    axes = AXES[3 - len(case["shape"]) :]
    assert found["u"].dims == tuple(axes) and found.attrs["step"] == 3 and found.attrs["time"] == 0.375
    np.testing.assert_array_equal(found["u"], own.field("u"))
    np.testing.assert_array_equal(found[axes[0]], np.arange(case["shape"][0]) * 0.5)
    assert found["records"].dims == ("record_time", "receiver") and found["records"].shape == (4, 2)
    np.testing.assert_array_equal(found["total_mass"], own.series()["mass"])
    assert simulation().to_xarray()["u"].dims == ("y", "x")


def test_arrays_of_a_system_need_a_name():
    own = stencil.System("gray-scott", size=(16, 16), engine="cpu")
    with pytest.raises(TypeError, match=r"it has 2 fields\nhelp: name one"):
        np.asarray(own)
    assert np.asarray(own["u"], "f8").dtype == np.float64
    with pytest.raises(ValueError, match="only be copied"):
        own["u"].__array__(copy=False)


def test_progress_is_told(capsys):
    own, heard = simulation(), []
    own.step(4000, progress=lambda done, steps: heard.append((done, steps)))
    assert heard[-1] == (4000, 4000) and heard == sorted(heard)
    heard.clear()
    assert len(list(own.observe(5, 2, progress=lambda done, steps: heard.append((done, steps))))) == 2
    assert heard[-1] == (5, 5) and all(steps == 5 for _, steps in heard)
    own.step(10, progress=True)
    assert "10/10 steps" in capsys.readouterr().err
    own.step(3, progress=False)
    assert capsys.readouterr().err == ""
    with pytest.raises(TypeError, match="progress must be True"):
        own.step(3, progress=7)

    class Enough(Exception):
        pass

    def enough(done, steps):
        raise Enough

    with pytest.raises(Enough):
        own.step(10**12, progress=enough)
    own.step(1)


def test_a_notebook_shows_a_bar(monkeypatch, capsys):
    shown = []

    class Handle:
        def update(self, own):
            shown.append(own._repr_html_())

    def display(own, display_id):
        shown.append(own._repr_html_())
        return Handle()

    shell = types.SimpleNamespace(kernel=None)
    monkeypatch.setitem(sys.modules, "IPython", types.SimpleNamespace(get_ipython=lambda: shell))
    monkeypatch.setitem(sys.modules, "IPython.display", types.SimpleNamespace(display=display))
    simulation().step(10, progress=True)
    assert shown[0].startswith('<progress value="0" max="10">') and shown[-1].startswith('<progress value="10" max="10">')
    assert "10/10 steps" in shown[-1] and capsys.readouterr().err == ""


def test_the_last_step_is_looked_at_if_asked():
    own = simulation()
    assert [now.steps for now in own.observe(5, every=2)] == [2, 4] and own.steps == 5
    assert [now.steps for now in own.observe(4, every=3, last=True)] == [6, 9]
    assert [now.steps for now in own.observe(2, every=3, last=True)] == [11]
    assert list(own.observe(0, every=3, last=True)) == []


def until(dt="0.1*c/max(abs(u))"):
    text = {
        "grid": {"size": [8], "dtype": "f64"},
        "time": {"dt": dt, "dt_every": 1, "until": 0.35, "steps": 1000},
        "constants": {"c": 1},
        "fields": {"u": {"start": 1, "next": "u"}},
    }
    return stencil.System(text, engine="cpu")


@pytest.mark.parametrize("every, last, looks", [(1, False, [1, 2, 3, 4]), (2, True, [2, 4]), (3, False, [3]),
                                               (3, True, [3, 4]), (9, False, []), (9, True, [4])])  # fmt: skip
def test_loops_end_where_the_time_does(every, last, looks):
    own, heard = until(), []
    progress = lambda done, steps: heard.append((done, steps))  # noqa: E731
    assert [now.steps for now in own.observe(100, every, last=last, progress=progress)] == looks
    assert own.steps == 4 and own.time == pytest.approx(0.35) and heard[-1] == (4, 100)
    assert list(own.observe(100, every, last=last)) == []
    own.step(10, progress=progress)
    assert own.steps == 4 and heard[-1] == (0, 10)
    own = until()
    own.step(100, progress=progress)
    assert own.steps == 4 and heard[-1] == (4, 100)


def test_notebooks_show_pictures():
    own = stencil.System("gray-scott", size=(16, 24), engine="cpu")
    assert own._repr_png_().startswith(b"\x89PNG") and own.picture("v").startswith(b"\x89PNG")
    assert own._repr_html_().count("data:image/png;base64,") == 2
    volume = stencil.Simulation("star3d1r", noise(6, 7, 8), engine="cpu")
    assert volume._repr_png_().startswith(b"\x89PNG")
    rod = stencil.Simulation("star1d1r", noise(9), engine="cpu")
    assert rod._repr_png_() is None and "<pre>" in rod._repr_html_()


def test_print_says_what_was_asked_before_steps_too():
    text = str(simulation(dtype="f32"))
    first = "asked      Simulation('star2d1r', <12x15 values>, boundary='reflect', dtype='f32', engine='cpu')"
    assert text.splitlines()[0] == first and "engine     cpu" in text
    own = stencil.System("gray-scott", size=(16, 24), parameters={"feed": 0.5}, engine="cpu")
    assert str(own).startswith("asked      System('gray-scott', parameters={'feed': 0.5}, size=(16, 24), engine='cpu')\n")
    own.parameters["kill"] = 0.25
    other = own.copy()
    other.parameters["feed"] = 0.75
    assert repr(own) == "System('gray-scott', parameters={'feed': 0.5, 'kill': 0.25}, size=(16, 24), engine='cpu')"
    assert repr(other) == "System('gray-scott', parameters={'feed': 0.75, 'kill': 0.25}, size=(16, 24), engine='cpu')"
    own = stencil.System({"coefficients": {"c": 1}, **PLAIN}, fields={"u": {"start": by_name_of_x, "keep": HERE > 1}},
                         coefficients={"c": Foreign(HERE)}, solid="x > 3", spacing=0.5, dtype=np.float32, dt=np.float64(0.5),
                         totals_every=3)  # fmt: skip
    said = ["{...}", "fields={'u': {'start': <function by_name_of_x>, 'keep': <4x5 values>}}", "coefficients={'c': <4x5 values>}",
            "solid='x > 3'", "spacing=0.5", "dtype='f32'", "dt=0.5", "totals_every=3"]  # fmt: skip
    assert repr(own) == f"System({', '.join(said)})"
    own = stencil.System({"title": "a rod", **PLAIN}, fields={"u": HERE.tolist()})
    assert repr(own) == "System({'title': 'a rod', ...}, fields={'u': <4x5 values>})"


def by_name_of_x(x):
    return x + 1


def test_names_of_fields_are_in_a_system():
    own = stencil.System("gray-scott", size=(16, 24), engine="cpu")
    assert "u" in own and "w" not in own and 3 not in own and list(own) == ["u", "v"] and list(simulation()) == ["u"]
    assert {name: own[name].shape for name in own} == {"u": (16, 24), "v": (16, 24)}


def test_unknown_parameters_change_nothing():
    own = stencil.System("gray-scott", size=(16, 24), engine="cpu")
    before = dict(own.parameters)
    for wrong, kind, text in [
        (3, TypeError, r"parameters must be a dict from names to values, not int\nhelp: write system.parameters = "),
        ({"feed": 0.5, "kil": 1}, stencil.InputError, r"no constant 'kil'(.|\n)*did you mean kill\?"),
        ({"feed": 0.5, "kill": None}, TypeError, "parameters\\['kill'\\] must be a number"),
    ]:
        with pytest.raises(kind, match=text):
            own.parameters = wrong
        assert own.parameters == before and "parameters" not in repr(own)
    with pytest.raises(stencil.InputError):
        own.parameters.update(feed=0.5, kil=1)
    with pytest.raises(KeyError, match="there is no parameter 'x': it has .*feed"):
        own.parameters["x"]
    assert own.parameters.get("x") is None and "x" not in own.parameters and own.parameters == before
    own.parameters = own.parameters
    own.parameters.update({"feed": 0.5}, kill="feed/2")
    assert own.parameters["feed"] == 0.5 and own.parameters["kill"] == 0.25


def test_notebooks_show_what_is_not_finite():
    text = {"grid": {"size": [16, 16]}, "fields": {"u": {"start": 1, "next": "u"}, "v": {"start": 2, "next": "v*v"}}}
    own = stencil.System(text, engine="cpu")
    with pytest.raises(stencil.NotFiniteError):
        own.step(1000)
        own.field("v")
    page = own._repr_html_()
    assert "asked      System" in page and "v" in page and "help: " in page
    own["v"] = 2
    assert own._repr_html_().count("data:image/png;base64,") == 2
    own = stencil.Simulation(np.full((3, 3), 1e30), np.ones((16, 16), "f4"), engine="cpu")
    with pytest.raises(stencil.NotFiniteError):
        own.step(40)
        own.field()
    assert own._repr_png_() is None and "asked      Simulation" in own._repr_html_()


HERE = np.ones((4, 5))
PLAIN = {"fields": {"u": {"start": HERE, "next": "u/2"}}}


def system(source=PLAIN, **options):
    return stencil.System(source, engine="cpu", **options)


TOLD = [
    (lambda: system("gray-scot"), ValueError, "there is no system 'gray-scot'", "stencil.examples() has the names"),
    (lambda: system(7), TypeError, "source must be a name, a path, a text or a dict, not int", "stencil.examples()"),
    (lambda: system({"fields": {"u": {"start": 1, "next": "u"}}}), ValueError, "size of the grid is not known", "give \"grid\""),
    (lambda: system({"grid": {"size": [4]}, "fields": {"u": {"start": 1, "nxt": "u"}}}), ValueError, "there is no key 'nxt'", "did you mean next?"),
    (lambda: system({"grid": {"size": [4]}, "fields": {"u": {"start": 1, "next": "w"}}}), ValueError, "'w'", ""),
    (lambda: system(parameters={"feed": 1}), ValueError, "no constant 'feed'", "its file has none under [constants]"),
    (lambda: system("gray-scott", parameters={"feeed": 1}), ValueError, "no constant 'feeed'", "did you mean feed?"),
    (lambda: system("gray-scott", parameters={"feed": None}), TypeError, "parameters['feed'] must be a number", "give a number"),
    (lambda: system("gray-scott", parameters=[1]), TypeError, "parameters must be a dict", "write parameters="),
    (lambda: system(fields={"w": HERE}), ValueError, "no field 'w'", "it has u"),
    (lambda: system(fields={"u": {"strt": HERE}}), ValueError, "there is no key 'strt'", "it may be start"),
    (lambda: system(fields={"u": {"before": [HERE]}}), ValueError, "no equation reads earlier values of 'u'", "before = ["),
    (lambda: system(coefficients={"c": np.ones((5, 4))}), ValueError, "5x4", ""),
    (lambda: system(fields={"u": lambda a: a}), ValueError, "the start of 'u': nobody knows what to call", "name its arguments"),
    (lambda: system(fields={"u": lambda x: x[:, :2]}), ValueError, "gives values of shape (1, 2), the grid has (4, 5)", "its arguments are arrays"),
    (lambda: system(size=0), ValueError, "size=0", "give size"),
    (lambda: system(dt="1/0"), ValueError, "", ""),
    (lambda: system(fields={"u": np.full((4, 5), np.nan)}), ArithmeticError, "NaN", ""),
    (lambda: system(solid=np.ones((4, 5))), ValueError, "all points are solid", "the condition holds inside"),
    (lambda: system(totals_every=0), ValueError, "totals_every=0", "give totals_every"),
    (lambda: system({"fields": [1]}), TypeError, "fields must be a dict", "it has the keys of the table"),
    (lambda: system({**PLAIN, "constants": {"a": HERE.view}}), TypeError, "constants.a must be a number", "arrays and functions are for"),
    (lambda: system()["w"], ValueError, "there is no field 'w'", "ask for one of u"),
    (lambda: system()[3], TypeError, "a field has a name, not 3", 'write system["u"]'),
    (lambda: system().__setitem__("u", np.ones((5, 4))), ValueError, "values of shape (5, 4) are given", "give an array of the shape"),
    (lambda: system().__setitem__("u", np.nan), ArithmeticError, "NaN", ""),
    (lambda: system().__setitem__(("u", 1), HERE), ValueError, "u, 1 steps before", "ask for one of u"),
    (lambda: system()["u", 2][:], ValueError, "u, 2 steps before", "ask for one of u"),
    (lambda: system("gray-scott").parameters.__setitem__("x", 1), ValueError, "no constant 'x'", ""),
    (lambda: system("gray-scott").parameters.__setitem__("feed", "1 +"), ValueError, "", ""),
    (lambda: system("gray-scott").parameters["x"], KeyError, "there is no parameter 'x': it has ", None),
    (lambda: system().save("u.npy", fields=[3]), TypeError, "fields must be a name or a list of names, not [3]", 'write fields=["u"]'),
    (lambda: system().save("u.npy", fields=3), TypeError, "fields must be a name or a list of names, not 3", 'write fields=["u"]'),
    (lambda: system().save("u.npy", slice=3), TypeError, "slice must be a text, not int", 'write slice="z=4"'),
    (lambda: system().save(4), TypeError, "path must be the name of a file, not int", "write it in quotes"),
    (lambda: system().checkpoint(3), TypeError, "path must be the name of a file, not int", "write it in quotes"),
    (lambda: system().resume(None), TypeError, "path must be the name of a file, not NoneType", "write it in quotes"),
    (lambda: system("gray-scott").parameters.clear(), TypeError, "is part of the system", "give it another value"),
]  # fmt: skip


@pytest.mark.parametrize("number", range(len(TOLD)))
def test_mistakes_are_told_with_what_can_be_done(number):
    call, kind, text, help = TOLD[number]
    with pytest.raises(kind) as caught:
        call()
    assert text in str(caught.value), str(caught.value)
    if help is not None:
        assert f"\nhelp: {help}" in str(caught.value), str(caught.value)


def test_what_cannot_be_set_leaves_it_as_it_was():
    own = stencil.System("gray-scott", size=(16, 16), engine="cpu")
    own.step(3)
    before = own.field("v")
    for wrong in [lambda: own.parameters.__setitem__("feed", "0/0"), lambda: own.__setitem__("v", np.inf)]:
        with pytest.raises(stencil.Error):
            wrong()
    np.testing.assert_array_equal(own.field("v"), before)
    assert own.parameters["feed"] == 0.035 and own.steps == 3
    own.step()


PAGE = pathlib.Path(__file__).parents[2] / "docs" / "tutorials" / "python.md"


@pytest.mark.skipif(not PAGE.exists(), reason="the pages lie in the repository")
def test_the_code_of_the_page_runs(tmp_path, monkeypatch, capsys):
    pytest.importorskip("xarray")
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(), re.M | re.S)
    names = {"pickle": pickle}
    for block in blocks:
        exec(compile(block, str(PAGE), "exec"), names)
    assert len(blocks) == 5 and names["traces"].shape == (201, 3) and names["largest"].shape == (21,)
    assert names["other"].steps == names["again"].steps == names["spots"].steps
    assert {path.suffix for path in tmp_path.iterdir()} == {".vti", ".png", ".state"}
    assert "1000/1000 steps" in capsys.readouterr().err
