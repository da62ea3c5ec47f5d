# SPDX-License-Identifier: MIT OR Apache-2.0
"""What a system is made of: names that are unknown or taken, files by relative names, parameters that belong together."""

import pickle

import numpy as np
import pytest
import stencil
from oracle import noise

U = noise(6, 7)
TEXT = {
    "grid": {"dtype": "f64"},
    "coefficients": {"speed": 0.5},
    "fields": {"u": {"start": U, "next": "u*speed"}},
}


def test_coefficients_that_nothing_reads_are_refused():
    def made(source=TEXT, **options):
        return stencil.System(source, engine="cpu", **options)

    for call, text, help in [
        (lambda: made(coefficients={"spede": 1}), "no coefficient 'spede', and no equation reads one", "did you mean speed?"),
        (lambda: made(coefficients={"spede": U}), "no coefficient 'spede'", "did you mean speed?"),
        (lambda: made(coefficients={"q": {"start": U, "boundary": "edge"}}), "no coefficient 'q'", "it has speed"),
        (lambda: made("gray-scott", coefficients={"feed": 1}), "'feed' is a constant already", ""),
        (lambda: made("gray-scott", coefficients={"feeed": 1}), "no coefficient 'feeed'", "its file has none under [coeff"),
    ]:
        with pytest.raises(stencil.InputError) as caught:
            call()
        assert text in str(caught.value) and caught.value.help.startswith(help), str(caught.value)
    # One that something reads was missing: equations, and conditions that are given beside it.
    text = {**TEXT, "coefficients": {}}
    with pytest.raises(stencil.InputError, match="speed"):
        made(text)
    own = made(text, coefficients={"speed": 2 * U})
    own.step()
    np.testing.assert_array_equal(own.field(), 2 * U * U)
    own = made(coefficients={"block": lambda x, y: x > 3}, fields={"u": {"keep": "block > 0.5"}})
    for each in [own, pickle.loads(pickle.dumps(own))]:
        each.step()
        np.testing.assert_array_equal(each.field(), np.where(np.arange(7) > 3, U, U / 2))


def test_files_are_those_of_the_folder_where_it_was_made(tmp_path, monkeypatch):
    first, second = tmp_path / "first", tmp_path / "second"
    for folder, values in [(first, U), (second, 3 * U)]:
        folder.mkdir()
        np.save(folder / "u.npy", values)
    text = 'size = [6, 7]\ndtype = "f64"\n[constants]\nk = 1\n[fields.u]\nstart = "u.npy"\nnext = "k*u"\n'
    text = "[grid]\n" + text + "[time]\nsteps = 0\n"
    (first / "system.toml").write_text(text)
    table = {"grid": {"dtype": "f64", "size": [6, 7]}, "constants": {"k": 1}, "fields": {"u": {"start": "u.npy", "next": "k*u"}}}
    plain = {**table, "fields": {"u": {"start": 0, "next": "k*u"}}}
    monkeypatch.chdir(first)
    made = [
        stencil.System(source, engine="cpu", **options)
        for source, options in [
            (table, {}),
            (text, {}),
            ("system.toml", {}),
            ("../first/system.toml", {}),
            (plain, {"fields": {"u": "u.npy"}}),
        ]
    ]
    monkeypatch.chdir(second)
    for own in made:
        # Whatever is made again of what it was made of reads the file again.
        own.parameters["k"] = 2
        data = pickle.dumps(own)
        again = [own.copy(), pickle.loads(data)]
        (first / "u.npy").rename(first / "gone.npy")
        with pytest.raises(stencil.FileError, match="first"):
            pickle.loads(data)
        (first / "gone.npy").rename(first / "u.npy")
        for each in [own, *again]:
            each.step()
            np.testing.assert_array_equal(each.field(), 2 * U)
    # A new one reads those of where it is made.
    np.testing.assert_array_equal(stencil.System(table, engine="cpu").field(), 3 * U)


def test_fields_named_as_coordinates_are_in_a_dataset():
    pytest.importorskip("xarray")
    fields = ["x", "t", "records", "record_time", "receiver", "total_time", "total_m", "total_step", "step", "x_"]
    text = {
        "grid": {"size": [3, 4], "spacing": 0.5, "dtype": "f64"},
        "fields": {name: {"start": number, "next": f"{name} + 1"} for number, name in enumerate(fields)},
        "totals": {"m": "sum(step)", "step_": "1 + m"},
        "receivers": [{"field": "step", "at": [1, 1]}],
    }
    own = stencil.System(text, totals_every=1, engine="cpu")
    own.step(2)
    found = own.to_xarray()
    names = {**{name: name for name in fields}, "x": "x_", "x_": "x__"}
    for name in fields:
        np.testing.assert_array_equal(found[names[name]], own.field(name))
        assert found[names[name]].dims == ("y", "x")
    assert found["x"].values.tolist() == [0, 0.5, 1, 1.5]
    assert found["records_"].dims == ("record_time_", "receiver_") and found["records_"].values.tolist() == [[8], [9], [10]]
    assert found["total_m_"].values.tolist() == [8 * 12, 9 * 12, 10 * 12] and found["total_m_"].dims == ("total_time_",)
    assert found["total_step_"].values.tolist() == [0, 1, 2] and found["total_step__"].shape == (3,)


def test_totals_named_as_their_rows_are_in_a_series():
    text = {**TEXT, "totals": {"step": "sum(u)", "time": "max(u)", "mean": "mean(u)"}}
    own = stencil.System(text, totals_every=1, engine="cpu")
    own.step(2)
    found = own.series()
    assert found.dtype.names == ("step", "time", "step_", "time_", "mean")
    assert found["step"].tolist() == [0, 1, 2] and found["time_"][1] == U.max() / 2


def test_parameters_change_together_or_not_at_all():
    text = {**TEXT, "constants": {"a": 4, "b": 2, "c": "a/b"}, "fields": {"u": {"start": U, "next": "u*sqrt(a - b)*c"}}}
    own = stencil.System(text, engine="cpu")
    before = dict(own.parameters)
    own.step()
    field = own.field()
    for wrong in [{"a": 1, "b": "1 +"}, {"a": 5, "b": "nothing"}, {"b": 1, "a": "0/0"}, {"a": 7, "c": "d"}]:
        with pytest.raises(stencil.InputError):
            own.parameters = wrong
        assert own.parameters == before and "parameters" not in repr(own)
        np.testing.assert_array_equal(own.field(), field)
    # On the way from the first to the second a - b would be negative.
    own.parameters = {"a": 1, "b": "a/2"}
    assert own.parameters == {"a": 1, "b": 0.5, "c": 2}
    again = pickle.loads(pickle.dumps(own))
    for each in [own, again]:
        each.step()
        np.testing.assert_allclose(each.field(), field * np.sqrt(0.5) * 2, rtol=1e-14)
    own.parameters.update({})
    assert own.parameters == again.parameters
