# SPDX-License-Identifier: MIT OR Apache-2.0
"""Gradients of systems: beside difference quotients, and an inversion."""

import pathlib
import pickle
import runpy
import sys

import numpy as np
import pytest
import stencil
from scipy.optimize import minimize


def waves(c, wavelet=(0.0,) * 12, damping=0.1):
    return stencil.System(
        {
            "grid": {"size": [9, 12], "dtype": "f64"},
            "time": {"dt": 0.4},
            "constants": {"damping": damping},
            "stencils": {"laplace": {"derivative": "laplace", "order": 2}},
            "tables": {"wavelet": {"arguments": list(range(12)), "values": list(wavelet)}},
            "fields": {
                "p": {
                    "start": "exp(-(x - 4)^2 - (y - 3)^2)",
                    "boundary": "y:reflect,x-:odd",
                    "next": "2*p - prev(p) + (c*dt)^2*laplace(p) - dt*damping*p^3",
                }
            },
            "sources": [{"field": "p", "at": [2, 3.5], "add": "wavelet(n)"}],
            "receivers": [{"field": "p", "at": [4, 8]}, {"field": "p", "at": [6.5, 2]}],
        },
        coefficients={"c": c},
        engine="cpu",
    )


def half_squares(fields, records):
    return {"p": fields["p"]}, records[:, 1:]


def value(system, steps=12):
    system.step(steps)
    return 0.5 * (np.sum(system.field("p") ** 2) + np.sum(system.records()[:, 1:] ** 2))


def test_a_gradient_is_the_limit_of_difference_quotients():
    random = np.random.default_rng(3)
    c, wavelet = 1 + 0.2 * random.random((9, 12)), random.random(12)
    system = waves(c, wavelet)
    found = system.gradient(12, half_squares, coefficients=["c"], parameters=["damping"])
    assert system.steps == 12 and found.steps_again == 0 and found.constants == []
    assert set(found.start) == {"p", ("p", 1)}

    def quotient(one, other, far=1e-6):
        return (value(one) - value(other)) / (2 * far)

    far, along = 1e-6, random.random((9, 12))
    by = quotient(waves(c + far * along, wavelet), waves(c - far * along, wavelet))
    assert by == pytest.approx(np.sum(found.coefficients["c"] * along), rel=1e-6)
    by = quotient(waves(c, wavelet, 0.1 + far), waves(c, wavelet, 0.1 - far))
    assert by == pytest.approx(found.parameters["damping"], rel=1e-6)
    along = random.random(12)
    by = quotient(waves(c, wavelet + far * along), waves(c, wavelet - far * along))
    assert by == pytest.approx(found.sources[0] @ along, rel=1e-6)
    one, other = waves(c, wavelet), waves(c, wavelet)
    for system, sign in ((one, 1), (other, -1)):
        system["p", 1] = np.array(system["p", 1]) + sign * far * along
    by = quotient(one, other)
    assert by == pytest.approx(np.sum(found.start["p", 1] * along), rel=1e-6)


def test_little_memory_takes_steps_again_and_changes_nothing():
    c = np.full((9, 12), 1.1)
    all_kept = waves(c).gradient(12, half_squares, coefficients=["c"])
    one_kept = waves(c).gradient(12, half_squares, coefficients=["c"], memory=2 * 9 * 12 * 8)
    assert one_kept.steps_again == 55
    assert np.array_equal(all_kept.coefficients["c"], one_kept.coefficients["c"])


def test_the_diffusion_of_two_snapshots_is_found():
    def heat(k):
        system = {
            "grid": {"size": [24], "dtype": "f64"},
            "time": {"dt": 0.2},
            "stencils": {"up": {"derivative": "x+", "order": 2}, "down": {"derivative": "x-", "order": 2}},
            "fields": {"u": {"start": "sin(x/2) + x/8", "boundary": "edge", "next": "u + dt*down(k*up(u))"}},
        }
        return stencil.System(system, coefficients={"k": k}, engine="cpu")

    truth = 1 + 0.5 * np.sin(np.arange(24) / 4)
    after = heat(truth)
    after.step(20)
    snapshot = after.field("u")
    misfits = []

    def misfit(k):
        off = []
        found = heat(k).gradient(20, lambda fields, _: off.append(fields["u"] - snapshot) or {"u": off[0]}, coefficients=["k"])
        misfits.append(0.5 * np.sum(off[0] ** 2))
        return misfits[-1], found.coefficients["k"]

    best = minimize(misfit, np.ones(24), jac=True, method="L-BFGS-B", bounds=[(0.1, 2)] * 24, options={"maxiter": 200, "ftol": 1e-16, "gtol": 1e-12})
    assert misfits[-1] < 1e-6 * misfits[0]
    # The flux through the last side is 0 whatever k is there.
    assert np.max(np.abs(best.x - truth)[:23]) < 0.1


def test_a_misfit_may_be_made_of_totals():
    def falling(rate):
        return stencil.System(
            {
                "grid": {"size": [3], "dtype": "f64"},
                "constants": {"rate": rate},
                "fields": {"u": {"start": "1 + x", "next": "u - rate*u*mass/10"}},
                "totals": {"mass": "sum(u)", "energy": "0.5*sum(u^2)"},
            },
            engine="cpu",
        )

    def value(rate):
        own = falling(rate)
        own.step()
        after = own.totals()["mass"]
        own.step(2)
        return own.totals()["energy"] ** 3, after

    # After the last step alone.
    def by_energy(fields, records, totals):
        return {}, None, {"energy": 3 * totals["energy"] ** 2}

    found = falling(0.2).gradient(3, by_energy, parameters=["rate"], totals=True)
    quotient = (value(0.2 + 1e-6)[0] - value(0.2 - 1e-6)[0]) / 2e-6
    assert found.parameters["rate"] == pytest.approx(quotient, rel=1e-6)
    # After each step.
    def by_first(fields, records, totals):
        return {}, None, {"mass": [1.0, 0.0, 0.0]}

    found = falling(0.2).gradient(3, by_first, parameters=["rate"], totals=True)
    quotient = (value(0.2 + 1e-6)[1] - value(0.2 - 1e-6)[1]) / 2e-6
    assert found.parameters["rate"] == pytest.approx(quotient, rel=1e-6)
    for wrong, told in (({"mas": 1.0}, "which is no total"), ({"mass": [1.0, 2.0], "energy": 1.0}, "different shapes")):
        with pytest.raises(stencil.InputError, match=told):
            falling(0.2).gradient(3, lambda fields, records, totals, wrong=wrong: ({}, None, wrong), totals=True)


def test_mistakes_of_a_misfit():
    def system():
        return waves(np.ones((9, 12)))

    with pytest.raises(ZeroDivisionError):
        system().gradient(2, lambda fields, records: 1 / 0)
    with pytest.raises(TypeError, match="misfit must be a function"):
        system().gradient(2, {"p": 1})
    with pytest.raises(stencil.InputError, match="there is no coefficient 'q'"):
        system().gradient(2, half_squares, coefficients=["q"])
    with pytest.raises(stencil.InputError, match="give a list"):
        system().gradient(2, half_squares, coefficients="c")
    with pytest.raises(stencil.InputError, match="'q'"):
        system().gradient(2, lambda fields, records: {"q": fields["p"]})
    with pytest.raises(stencil.InputError, match="rows"):
        system().gradient(2, lambda fields, records: ({}, records[:1, 1:]))
    with pytest.raises(stencil.InputError, match="'c' is asked for twice"):
        system().gradient(2, half_squares, coefficients=["c", "c"])
    with pytest.raises(stencil.InputError, match="rows"):
        system().gradient(2, lambda fields, records: ({}, [[1.0]]))
    busy = system()
    for asks in (lambda: busy.field("p"), busy.records, lambda: busy.step(1)):
        with pytest.raises(RuntimeError, match="while the system computes"):
            busy.gradient(2, lambda fields, records: asks())
    rod = stencil.Simulation("star1d1r", np.ones(8))
    assert not hasattr(rod, "gradient")


def test_the_inversion_of_the_examples_lowers_its_misfit(tmp_path, monkeypatch, capsys):
    example = pathlib.Path(__file__).parent.parent / "examples" / "fwi.py"
    picture = tmp_path / "fwi.png"
    arguments = ["--scale", "0.3", "--iterations", "1", "--engine", "cpu", "--output", str(picture)]
    monkeypatch.setattr(sys, "argv", [str(example), *arguments])
    runpy.run_path(str(example), run_name="__main__")
    looks = [line for line in capsys.readouterr().out.splitlines() if "misfit" in line]
    misfits = [float(line.split()[2]) for line in looks]
    assert misfits[0] == 1 and misfits[-1] < 0.9
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_states_are_kept_where_it_is_asked(tmp_path):
    c = 0.1 + 0.02 * np.arange(9 * 12).reshape(9, 12) % 0.1
    usual = waves(c).gradient(12, half_squares, coefficients=["c"])
    for keep_in in ("memory", tmp_path, str(tmp_path)):
        kept = waves(c).gradient(12, half_squares, coefficients=["c"], keep_in=keep_in)
        np.testing.assert_array_equal(kept.coefficients["c"], usual.coefficients["c"])
    assert not list(tmp_path.iterdir())
    rounded = waves(c).gradient(12, half_squares, coefficients=["c"], keep_as="f16").coefficients["c"]
    largest = np.abs(usual.coefficients["c"]).max()
    assert 0 < np.abs(rounded - usual.coefficients["c"]).max() < 0.01 * largest
    for wrong in ({"keep_in": tmp_path / "nowhere"}, {"keep_as": "f8"}, {"keep_in": "gpu", "memory": 1 << 20}):
        with pytest.raises(stencil.errors.InputError):
            waves(c).gradient(2, half_squares, coefficients=["c"], **wrong)
    with pytest.raises(TypeError, match="keep_in"):
        waves(c).gradient(2, half_squares, coefficients=["c"], keep_in=3)


def two_sources(sources, engine="cpu"):
    return stencil.System(
        {
            "grid": {"size": [8, 9], "dtype": "f64"},
            "time": {"dt": 0.4},
            "stencils": {"laplace": {"derivative": "laplace", "order": 2}},
            "fields": {"p": {"start": "exp(-(x - 4)^2)", "next": "2*p - prev(p) + (c*dt)^2*laplace(p) - 0.01*p^3"}},
            "sources": [{"field": "p", "at": [2, 3]}, {"field": "p", "at": [5, 4.5]}],
            "receivers": [{"field": "p", "at": [4, 7]}],
        },
        coefficients={"c": np.linspace(0.9, 1.1, 72).reshape(8, 9)},
        sources=sources,
        engine=engine,
    )


@pytest.mark.parametrize("engine", ["cpu", "emulate"])
def test_shots_are_runs_with_other_sources(engine):
    random, steps = np.random.default_rng(5), 6
    shots = random.random((3, 2, steps))
    several = two_sources(np.zeros((2, 1)), engine)
    several.step(2)
    begin = several.copy()
    for shot in several.shots(steps, shots):
        # A series begins where the shot does.
        one = two_sources(np.concatenate([np.zeros((2, 2)), shots[shot]], axis=1), engine)
        one.step(2 + steps)
        assert several.steps == 2 + steps
        assert np.array_equal(several.records(), one.records())
        assert np.array_equal(several["p"], one["p"]) and np.array_equal(several["p", 1], one["p", 1])
    # A copy, also by way of a pickle, goes on with what sources add in the last shot.
    others = [several.copy(), pickle.loads(pickle.dumps(several))]
    for each in (several, one, *others):
        each.step(2)
        assert np.array_equal(each["p"], several["p"])

    weights, asked = random.random((3, steps + 1, 1)), []

    def misfit(fields, records, shot=0):
        asked.append(shot)
        return {"p": fields["p"] ** 3}, weights[shot] * records[-steps - 1 :, 1:]

    several = begin.copy()
    found = several.gradient(steps, misfit, coefficients=["c"], shots=shots)
    assert sorted(asked) == [0, 1, 2] and found.sources.shape == (3, 2, steps)
    parts = []
    for shot in range(3):
        one = two_sources(np.concatenate([np.zeros((2, 2)), shots[shot]], axis=1), engine)
        one.step(2)
        parts.append(one.gradient(steps, lambda fields, records, shot=shot: misfit(fields, records, shot), coefficients=["c"]))
        assert np.array_equal(found.sources[shot], parts[-1].sources)
    assert np.array_equal(found.coefficients["c"], sum(part.coefficients["c"] for part in parts))
    assert np.array_equal(found.start["p", 1], sum(part.start["p", 1] for part in parts))


def test_shots_that_make_no_sense_are_refused():
    with pytest.raises(stencil.InputError, match="3 rows of numbers are given for 2 sources"):
        two_sources(np.zeros((3, 4)))
    with pytest.raises(stencil.InputError, match="the system was made without series for its sources"):
        next(waves(1.0).shots(2, np.zeros((1, 1, 2))))
    own = two_sources(np.zeros((2, 1)))
    with pytest.raises(stencil.InputError, match=r"shape \(2, 3\) is given for 3 steps"):
        own.shots(3, np.zeros((2, 3)))
    with pytest.raises(stencil.InputError, match="a number of source 1 is NaN"):
        next(own.shots(1, np.array([[[0], [np.nan]]])))
