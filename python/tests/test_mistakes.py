# SPDX-License-Identifier: MIT OR Apache-2.0
"""What is told of arguments that make no sense: the kind of error, its facts, and what can be done."""

import pickle
import re

import numpy as np
import pytest
import stencil

HERE = np.ones((4, 4))


def run(u=HERE, steps=1, weights="star2d1r", **options):
    return stencil.run(weights, u, steps, **{"engine": "cpu", **options})


def made(**options):
    return stencil.Simulation("star2d1r", HERE, **{"engine": "cpu", **options})


# A call, the built-in exception, a part of the text, facts, and how the help begins.
TOLD = [
    (lambda: run(weights="star2d1"), ValueError, "there is no stencil 'star2d1'", {}, "did you mean "),
    (lambda: run(weights="nothing"), ValueError, "there is no stencil 'nothing'", {}, "stencil.catalogue() has"),
    (lambda: run(weights=np.ones((2, 2))), ValueError, "the weights", {}, "pad the weights with"),
    (lambda: run(weights=np.zeros((3, 3))), ValueError, "the weights", {}, "weights are an array"),
    (lambda: run(np.ones(4)), ValueError, "1 axes", {"axes": 1, "dims": 2}, "give an array or a shape of 2 axes"),
    (lambda: run(np.ones((4, 0))), ValueError, "4x0", {"size": "4x0"}, "1 to 3 axes"),
    (lambda: run(np.ones(())), ValueError, "0 axes", {}, "1 to 3 axes"),
    (lambda: run(np.ones((1, 1, 1, 1))), ValueError, "4 axes", {}, "1 to 3 axes"),
    (lambda: run(np.ones((4, 4), complex)), ValueError, "complex128", {}, "give float16, bfloat16"),
    (lambda: run("abc"), ValueError, "str", {}, "give float16, bfloat16"),
    (lambda: run(None), ValueError, "object", {}, "give float16, bfloat16"),
    (lambda: run(boundary="clamp"), ValueError, "clamp", {"boundary": "clamp"}, "did you mean edge"),
    (lambda: run(boundary="warp"), ValueError, "warp", {}, "give one kind for all sides"),
    (lambda: run(boundary="open"), ValueError, "open", {}, "no kind lets waves out"),
    (lambda: run(boundary="symetric"), ValueError, "symetric", {}, "did you mean symmetric?"),
    (lambda: run(boundary="left:zero"), ValueError, "left", {}, "did you mean x-:zero?"),
    (lambda: run(boundary="x+:edge,x:zero"), ValueError, "would replace", {}, 'give the more general one first: boundary="x:'),
    (lambda: run(boundary={"z": "edge"}), ValueError, "'z' is none of x, x-, x+", {}, ""),
    (lambda: run(boundary={"x": "clamp"}), ValueError, "'clamp' is none of", {"boundary": "x:clamp"}, "did you mean"),
    (lambda: run(boundary={"x-": "periodic"}), ValueError, "one side only", {}, "give one kind for all sides"),
    (lambda: run(engine="gpu"), ValueError, "engine: 'gpu' is none of auto, ", {"argument": "engine"}, ""),
    (lambda: run(engine="spars"), ValueError, "engine: 'spars'", {"name": "spars"}, 'did you mean engine="sparse"'),
    (lambda: run(dtype="f8"), ValueError, "dtype: 'f8' is none of f16, ", {"argument": "dtype"}, ""),
    (lambda: run(dtype=complex), ValueError, "dtype: 'complex128'", {}, ""),
    (lambda: run(kernel="none"), ValueError, "sweep2d", {"argument": "kernel"}, ""),
    (lambda: run(kernel="sweep2d"), ValueError, "engine 'cpu' cannot run this", {"engine": "cpu"}, "leave out kernel"),
    (lambda: run(verify="some"), ValueError, "verify: 'some' is none of full, sample, off", {}, ""),
    (lambda: run(engine="dense", dtype="bf16"), (ValueError, RuntimeError), "", {}, ""),
    (lambda: run(np.full((4, 4), np.nan)), ArithmeticError, "NaN", {"position": "(y, x) = (0, 0)"}, "replace infinities"),
    (lambda: run(np.full((4, 4), 1e300), dtype="f16"), ArithmeticError, "as f16", {}, "the element type cannot hold"),
    (lambda: run(np.ones((4, 4), "f2"), 99, np.full((3, 3), 9.0)), ArithmeticError, "after step", {}, "the values outgrew"),
    (lambda: run(steps=-1), ValueError, "steps=-1 is no number from 0 to", {}, "give steps a whole number of at least 0"),
    (lambda: run(steps=2**70), ValueError, f"steps={2**70} is no number from 0 to", {}, "give steps"),
    (lambda: run(fuse=0), ValueError, "fuse=0 is no number from 1 to", {}, "give fuse"),
    (lambda: run(chain=-3), ValueError, "chain=-3 is no number from 1 to", {}, "give chain"),
    (lambda: run(jump=-1), ValueError, "jump=-1 is no number from 1 to", {}, "give jump"),
    (lambda: run(fuse=10**9), ValueError, "fuse: give a number of steps from 1 to", {}, "leave fuse out"),
    (lambda: made(portions=0), ValueError, "portions=0 is no number from 1 to", {}, "give portions"),
    (lambda: made().step(-1), ValueError, "steps=-1", {}, "give steps"),
    (lambda: made().observe(-1, 1), ValueError, "steps=-1", {}, "give steps"),
    (lambda: made().observe(1, 0), ValueError, "every=0 is no number from 1 to", {}, "give every"),
    (lambda: made().field("v"), ValueError, "'v'", {"known": ["u"]}, "ask for one of u"),
    (lambda: made().field(device="tpu"), ValueError, "device: 'tpu' is none of cpu, cuda", {}, ""),
    (lambda: made().field(device="cuda"), RuntimeError, "", {}, ""),
    (lambda: run(engine="cuda"), RuntimeError, "", {}, ""),
    (lambda: stencil.System("grey-scott"), ValueError, "gray-scott", {}, "stencil.examples() has the names"),
    (lambda: stencil.System("no/such.toml"), OSError, "no/such.toml", {}, "check the path"),
    (lambda: stencil.System("size = 31\nsise = 3"), ValueError, "sise", {"line": 2}, ""),
    (lambda: stencil.System("gray-scott", engine="dense"), ValueError, "systems of fields run on", {}, ""),
    (lambda: stencil.System("gray-scott", engine="gpu"), ValueError, "engine: 'gpu' is none of auto, ", {}, ""),
    (lambda: stencil.System("gray-scott", engine="cpu").step(-1), ValueError, "steps=-1", {}, "give steps"),
    (lambda: stencil.plan("star2d1r", 64), ValueError, "size 64 has 1 axes", {"dims": 2}, "give an array or a shape of 2"),
    (lambda: stencil.plan("star2d1r", (64, 0)), ValueError, "shape=0 is no number from 1 to", {}, "give shape"),
    (lambda: stencil.plan("star2d1r", (64, 64), -1), ValueError, "steps=-1", {}, "give steps"),
    (lambda: stencil.plan("star2d1r", (64, 64), machine="h300"), ValueError, "h200, h100, a100", {}, 'did you mean machine="h200"'),
]

# A call, and what is told of an argument whose type makes no sense.
OF_TYPE = [
    (lambda: run(steps=1.5), "steps must be a whole number, not float"),
    (lambda: run(steps="3"), "steps must be a whole number, not str"),
    (lambda: run(steps=None), "steps must be a whole number, not NoneType"),
    (lambda: run(fuse=2.0), "fuse must be a whole number, not float"),
    (lambda: run(engine=7), "engine must be a name, not int"),
    (lambda: run(engine=None), "engine must be a name, not NoneType"),
    (lambda: run(kernel=1), "kernel must be a name, not int"),
    (lambda: run(verify=True), "verify must be a name, not bool"),
    (lambda: run(dtype=7), "dtype must be a name or a type of numpy, not int"),
    (lambda: run(boundary=3), "boundary must be text or a dict of texts, not int"),
    (lambda: run(boundary=("edge", "zero")), "boundary must be text or a dict of texts, not tuple"),
    (lambda: run(boundary={"x": 3.5}), "boundary['x'] must be a text under a text, not float"),
    (lambda: run(boundary={0: "edge"}), "boundary[0] must be a text under a text, not str"),
    (lambda: made(portions="many"), "portions must be a whole number, not str"),
    (lambda: made().step(0.5), "steps must be a whole number, not float"),
    (lambda: made().observe(4, 2.0), "every must be a whole number, not float"),
    (lambda: stencil.System(7), "source must be a name, a path, a text or a dict, not int"),
    (lambda: stencil.System("gray-scott", engine=7), "engine must be a name, not int"),
    (lambda: stencil.plan("star2d1r", None), "shape must be a whole number, not NoneType"),
    (lambda: stencil.plan("star2d1r", (64, 6.4)), "shape must be a whole number, not float"),
    (lambda: stencil.plan("star2d1r", (64, 64), machine=7), "machine must be a name, not int"),
]


def check_help(help):
    """It is in the words of Python: no options of the program, none of its commands."""
    assert help and not re.search(r"(^|\s|`)--?[a-z]|`?host [a-z]", help), help


@pytest.mark.parametrize("call, kind, text, facts, start", TOLD)
def test_errors_have_a_kind_facts_and_help(call, kind, text, facts, start):
    with pytest.raises(stencil.Error) as caught:
        call()
    error = caught.value
    assert isinstance(error, kind) and text in str(error), str(error)
    assert error.kind and facts.items() <= error.facts.items(), error.facts
    assert error.help.startswith(start) and str(error).endswith(f"\nhelp: {error.help}"), error.help
    check_help(error.help)
    assert not re.search(r"(^|\s)--[a-z]", str(error)), str(error)
    again = pickle.loads(pickle.dumps(error))
    assert repr((str(again), again.kind, again.facts, again.help)) == repr(
        (str(error), error.kind, error.facts, error.help)
    )


@pytest.mark.parametrize("call, text", OF_TYPE)
def test_types_of_arguments_are_told(call, text):
    with pytest.raises(TypeError) as caught:
        call()
    said, help = str(caught.value).split("\nhelp: ")
    assert said == text
    check_help(help)


def test_every_class_of_errors_is_told_of():
    kinds = set()
    for call, *_ in TOLD:
        with pytest.raises(stencil.Error) as caught:
            call()
        kinds.add(type(caught.value).__name__)
    # The others need a fault of a kernel, a machine without memory, or an interrupt.
    assert kinds == {"InputError", "NotFiniteError", "DeviceError", "FileError"}


def test_a_boundary_may_be_a_dict():
    u = np.random.default_rng(3).random((12, 15))
    for sides, text in [
        ({"x": "periodic", "y": "reflect"}, "x:periodic,y:reflect"),
        ({"x": "periodic"}, "x:periodic"),
        ({"y-": "constant=2.5", "y+": "flux=0.5"}, "y-:constant=2.5,y+:flux=0.5"),
        # A side refines its axis, in whatever order they stand.
        ({"y+": "zero", "y": "edge", "x-": "edge"}, "y:edge,y+:zero,x-:edge"),
        ({}, "zero"),
    ]:
        expected = run(u, 4, boundary=text)
        np.testing.assert_array_equal(run(u, 4, boundary=sides), expected)
        simulation = stencil.Simulation("star2d1r", u, boundary=sides, engine="cpu")
        simulation.step(4)
        np.testing.assert_array_equal(simulation.field(), expected)
        assert stencil.plan("star2d1r", u.shape, boundary=sides)["ranked"]


def test_whole_numbers_of_numpy_are_numbers():
    for kind in [np.int8, np.uint16, np.int64]:
        np.testing.assert_array_equal(run(steps=kind(3)), run(steps=3))
    assert stencil.plan("star1d1r", 64)["ranked"] and stencil.plan("star2d1r", np.array([64, 64]))["ranked"]
