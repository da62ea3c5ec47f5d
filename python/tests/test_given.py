# SPDX-License-Identifier: MIT OR Apache-2.0
"""Arrays as people give them: with values that are missing, of lists, of other libraries, of types that numpy lacks."""

import copy
import os
import pathlib
import pickle
import subprocess
import sys

import numpy as np
import pytest
import stencil
from oracle import noise
from producer import Producer

WEIGHTS = np.array([[0, 0.25, 0], [0.25, 0, 0.25], [0, 0.25, 0]])
U = noise(12, 15)


class Foreign:
    """An array that gives its memory by DLPack only."""

    def __init__(self, array):
        self.array, self.shape = array, array.shape

    def __dlpack__(self, **asked):
        return self.array.__dlpack__(**asked)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


class Refused(Foreign):
    """One of a type that numpy does not have."""

    def __dlpack__(self, **asked):
        raise BufferError("bfloat16 is not known")


def line(start=1, **options):
    text = {"grid": {"size": [12, 15]}, "fields": {"u": {"start": start, "next": "u/2"}}}
    return stencil.System({**text, **options}, engine="cpu")


def spots(**options):
    return stencil.System("gray-scott", size=(12, 15), engine="cpu", **options)


# Every way in which an array is given for values of a grid.
WAYS = {
    "run": lambda array: stencil.run("star2d1r", array, 1, engine="cpu"),
    "Simulation": lambda array: stencil.Simulation("star2d1r", array, engine="cpu"),
    "start": line,
    "fields": lambda array: spots(fields={"u": array}),
    "coefficients": lambda array: line(coefficients={"c": array}),
    "keep": lambda array: spots(fields={"u": {"keep": array}}),
    "solid": lambda array: spots(solid=array),
    "function": lambda array: line(lambda x, y: array),
    "field": lambda array: spots().__setitem__("u", array),
    "part": lambda array: spots()["u"].__setitem__(slice(None), array),
    "gaussian": lambda array: stencil.ndimage.gaussian_filter(array, 1),
    "correlate": lambda array: stencil.ndimage.correlate(array, WEIGHTS),
}
# And for weights.
OF_WEIGHTS = {
    "run": lambda weights: stencil.run(weights, U, 1, engine="cpu"),
    "Simulation": lambda weights: stencil.Simulation(weights, U, engine="cpu"),
    "plan": lambda weights: stencil.plan(weights, U.shape)["ranked"],
    "weights": stencil.weights,
    "correlate": lambda weights: stencil.ndimage.correlate(U, weights),
    "stencils": lambda weights: line(stencils={"w": {"dense": weights}}),
}


@pytest.mark.parametrize("way", WAYS)
def test_masked_values_are_refused_and_never_dropped(way):
    masked = np.ma.masked_array(U, U > 0.5)
    for array in [masked, list(masked), [[*masked[0]], [*masked[1]]]]:
        with pytest.raises(stencil.InputError) as caught:
            WAYS[way](array)
        assert "some values are masked" in str(caught.value) and "numpy.ma.filled(array, 0)" in caught.value.help
    # Files of other packages give such arrays also where nothing is missing.
    if way not in ("keep", "solid"):
        WAYS[way](np.ma.masked_array(U, np.zeros(U.shape, bool)))
        WAYS[way](np.ma.masked_array(U))


@pytest.mark.parametrize("way", OF_WEIGHTS)
def test_masked_weights_are_refused(way):
    with pytest.raises(stencil.InputError, match="some values are masked"):
        OF_WEIGHTS[way](np.ma.masked_array(WEIGHTS, WEIGHTS == 0))
    OF_WEIGHTS[way](np.ma.masked_array(WEIGHTS))


def test_masked_numbers_are_no_numbers():
    for call in [
        lambda: spots().__setitem__("u", np.ma.masked),
        lambda: line(np.ma.masked),
        lambda: stencil.run("star2d1r", [[1.0, np.ma.masked]], 1),
        lambda: line(receivers=[{"field": "u", "at": np.ma.masked_array([[1, 2]], [[True, False]])}]),
    ]:
        with pytest.raises(stencil.InputError, match="some values are masked"):
            call()


@pytest.mark.parametrize("way", WAYS)
def test_lists_of_several_lengths_are_refused(way):
    with pytest.raises(stencil.InputError) as caught:
        WAYS[way]([[1, 2], [3]])
    assert "inhomogeneous shape" in str(caught.value) and caught.value.help.startswith("give an array, lists of one length")
    with pytest.raises((stencil.InputError, RuntimeError)):
        WAYS[way](np.array([[1, 2], [3]], object))


@pytest.mark.parametrize("way", ["run", "Simulation", "plan", "weights", "correlate"])
def test_weights_that_are_lists_of_several_lengths_are_refused(way):
    with pytest.raises(stencil.InputError, match="the weights: (.|\n)*inhomogeneous"):
        OF_WEIGHTS[way]([[1, 2], [3]])


@pytest.mark.parametrize("way", OF_WEIGHTS)
def test_weights_may_be_arrays_of_other_libraries(way):
    found, expected = OF_WEIGHTS[way](Foreign(WEIGHTS)), OF_WEIGHTS[way](WEIGHTS)
    if isinstance(expected, np.ndarray):
        np.testing.assert_array_equal(found, expected)
    with pytest.raises(stencil.InputError) as caught:
        OF_WEIGHTS[way](Producer((3, 3)))
    assert "an array of a GPU is given for" in str(caught.value) and "tensor.cpu()" in caught.value.help
    with pytest.raises(stencil.InputError) as caught:
        OF_WEIGHTS[way](Refused(WEIGHTS))
    assert "numpy does not take this array: bfloat16" in str(caught.value) and "tensor.float()" in caught.value.help


def test_a_simulation_of_such_weights_is_copied():
    own = stencil.Simulation(Foreign(WEIGHTS), U, engine="cpu")
    assert repr(own).startswith("Simulation(<3x3 weights>")
    for other in [own.copy(), copy.deepcopy(own), pickle.loads(pickle.dumps(own))]:
        other.step(2)
        np.testing.assert_array_equal(other, stencil.run(WEIGHTS, U, 2, engine="cpu"))


def test_places_and_distances_may_be_arrays_of_other_libraries():
    places = np.array([[1, 2], [3, 4]])
    found = line("x + 100*y", receivers=[{"field": "u", "at": Foreign(places)}]).records()
    assert found.tolist() == [[0, 102, 304]]
    assert line("x", receivers=[{"field": "u", "at": Foreign(places[0])}]).records().tolist() == [[0, 2]]
    assert spots(spacing=Foreign(np.array([0.5, 0.25]))).to_xarray()["x"][1] == 0.25
    assert stencil.System("gray-scott", size=Foreign(places[1]), engine="cpu").shape == (3, 4)


def test_a_single_number_is_no_array():
    for number in [3, 3.0, np.int32(3), np.array(3), np.float32(3), np.array(3, ">f8"), True]:
        with pytest.raises(stencil.InputError, match="0 axes; 1, 2 or 3 are supported"):
            stencil.run("star1d1r", number, 1, engine="cpu")
        with pytest.raises(stencil.InputError):
            stencil.run(number, np.ones(5), 1, engine="cpu")


# In a process that lacks the package of bf16's arrays.
WITHOUT = """
import sys
sys.modules["ml_dtypes"] = None
import os, pickle, numpy as np
if os.environ.get("STENCIL_LIBRARY"):
    import conftest
import stencil
u = np.arange(180, dtype="f4").reshape(12, 15) / 7
text = {"grid": {"dtype": "bf16"}, "fields": {"u": {"start": u, "before": u / 2, "next": "u/2 + prev(u)/4"}}}
rounded = ((u.view("u4") + 0x7fff + (u.view("u4") >> 16 & 1)) & 0xffff0000).view("f4")
for own in [stencil.Simulation("star2d1r", u, dtype="bf16", engine="cpu"), stencil.System(text, engine="cpu")]:
    assert own.field().dtype == np.float32 and (own.field() == rounded).all()
    own.step(2)
    ways = [own.copy(), pickle.loads(pickle.dumps(own))]
    own.step(3)
    for other in ways:
        assert other.report()["dtype"] == "bf16" and other.steps == 2, other
        other.step(3)
        assert (other["u"] == own["u"]).all()
    other["u"] = u
    other["u"][2:4] = 1
    other["u"] += 1
    assert other["u"][3, 4] == 2 and (other["u"][0] == ((rounded[0] + 1).view("u4") + 0x7fff +
        ((rounded[0] + 1).view("u4") >> 16 & 1) & 0xffff0000).view("f4")).all()
assert stencil.run("star2d1r", u, 2, dtype="bf16", engine="cpu").dtype == np.float32
"""


def test_bf16_goes_without_its_package():
    given = subprocess.run([sys.executable, "-c", WITHOUT], capture_output=True, text=True, env=environment())
    assert given.returncode == 0, given.stderr


def environment():
    """That of this process, with the modules of the tests."""
    here = str(pathlib.Path(__file__).parent)
    return {**os.environ, "PYTHONPATH": os.pathsep.join([here, *filter(None, [os.environ.get("PYTHONPATH")])])}


def test_pickles_of_bf16_are_read_where_its_package_is_not():
    types = pytest.importorskip("ml_dtypes")
    u = noise(12, 15).astype(types.bfloat16)
    text = {"coefficients": {"c": u}, "fields": {"u": {"start": u, "next": "u/2 + c"}}}
    makes = [lambda: stencil.Simulation("star2d1r", u, engine="cpu"), lambda: stencil.System(text, engine="cpu")]
    for own in [make() for make in makes]:
        own.step(2)
        data = pickle.dumps(own)
        assert b"ml_dtypes" not in data
        other = pickle.loads(data)
        assert other.field().dtype == types.bfloat16
        own.step(3)
        other.step(3)
        np.testing.assert_array_equal(np.asarray(own, "f4"), np.asarray(other, "f4"))
