# SPDX-License-Identifier: MIT OR Apache-2.0
"""The types that editors read (`stencil/__init__.pyi`) are those of the package: names, arguments, and the values that
a choice has in the library."""

import ast
import inspect
import pathlib

import numpy as np
import pytest
import stencil

TYPES = ast.parse((pathlib.Path(stencil.__file__).parent / "__init__.pyi").read_text())
HERE = np.ones((9, 9))


def literals():
    """The values of each `_Name = Literal[...]`."""
    found = {}
    for each in TYPES.body:
        if isinstance(each, ast.Assign) and isinstance(each.value, ast.Subscript):
            assert each.value.value.id == "Literal"
            found[each.targets[0].id] = list(ast.literal_eval(each.value.slice))
    return found


LITERALS = literals()


def known(call, name="no such name"):
    """The values that the library has, as it tells whoever gives another one."""
    with pytest.raises(stencil.InputError) as caught:
        call(name)
    return caught.value.facts["known"]


def run(**options):
    return stencil.run("star2d1r", HERE, 1, **{"engine": "cpu", **options})


def test_the_values_of_choices_are_those_of_the_library():
    told = {
        "_Engine": known(lambda name: run(engine=name)),
        "_Dtype": known(lambda name: run(dtype=name)),
        "_Verify": known(lambda name: run(verify=name)),
        "_Machine": known(lambda name: stencil.plan("star2d1r", (9, 9), machine=name)),
        "_Device": known(lambda name: stencil.Simulation("star2d1r", HERE, engine="cpu").field(device=name)),
    }
    for name, values in told.items():
        assert sorted(LITERALS[name]) == sorted(values), name
    assert set(LITERALS) == {*told, "_Kind"}


def test_the_kinds_of_boundaries_are_those_of_the_library():
    with pytest.raises(stencil.InputError) as caught:
        run(boundary="no such kind")
    kinds = caught.value.facts["reason"].split(" is none of ")[1].split(", ")
    # Those with a value are texts of their own.
    assert sorted(kinds) == sorted([*LITERALS["_Kind"], "constant=V", "flux=G", "robin=A,B,C"])
    for kind in kinds:
        kind = kind.replace("A,B,C", "1,1,0").replace("V", "1").replace("G", "0")
        assert run(boundary=kind).shape == HERE.shape


def test_every_engine_takes_a_system_that_is_a_stencil_and_dense_no_other():
    text = """
[grid]
size = [9, 9]
[time]
dt = 0.1
steps = 1
[fields.u]
start = "x"
next = "NEXT"
"""
    for engine in LITERALS["_Engine"]:
        for next_value, is_stencil in [("0.5*u", True), ("u*u", False)]:
            try:
                stencil.System(text.replace("NEXT", next_value), engine=engine)
            except (stencil.InputError, stencil.DeviceError) as error:
                # What else is in the way is told in other words.
                refused = "systems of fields run on" in str(error)
            else:
                refused = False
            assert refused == (engine == "dense" and not is_stencil), f"{engine} {next_value}"


def test_the_names_are_those_of_the_package():
    stated = next(ast.literal_eval(each.value) for each in TYPES.body
                  if isinstance(each, ast.Assign) and each.targets[0].id == "__all__")  # fmt: skip
    assert stated == stencil.__all__
    assert set(stated) == {name for name in vars(stencil) if not name.startswith("_") and name != "errors"} | {"__version__"}


def arguments(function):
    """The arguments that the types state, with their defaults; those of the object itself left out."""
    stated = function.args
    positional = [*stated.posonlyargs, *stated.args]
    defaults = [inspect.Parameter.empty] * (len(positional) - len(stated.defaults)) + stated.defaults
    named = [*zip(positional, defaults, strict=True), *zip(stated.kwonlyargs, stated.kw_defaults, strict=True)]
    value = lambda default: ast.literal_eval(default) if isinstance(default, ast.AST) else default  # noqa: E731
    return {own.arg: value(default) for own, default in named if own.arg not in ("self", "cls")}


def functions():
    """Each function of the types, with that of the package."""
    for each in TYPES.body:
        if isinstance(each, ast.FunctionDef):
            yield each.name, each, getattr(stencil, each.name)
        elif isinstance(each, ast.ClassDef) and each.name not in ("_OnDevice", "_Kernel"):
            # What both kinds of computations have is stated once.
            own = stencil.Simulation if each.name == "_Computation" else getattr(stencil, each.name)
            for method in each.body:
                if isinstance(method, ast.FunctionDef) and not method.decorator_list:
                    yield f"{each.name}.{method.name}", method, getattr(own, method.name)


@pytest.mark.parametrize("name, stated, own", list(functions()), ids=lambda value: value if isinstance(value, str) else "")
def test_arguments_are_those_of_the_package(name, stated, own):
    parameters = inspect.signature(own).parameters.values()
    found = {each.name: each.default for each in parameters if each.name not in ("self", "cls")}
    assert arguments(stated) == found


@pytest.mark.parametrize("name, stated, own", list(functions()), ids=lambda value: value if isinstance(value, str) else "")
def test_functions_say_what_they_do(name, stated, own):
    if not name.endswith("__"):
        first = (own.__doc__ or "").split("\n\n")[0]
        assert first.strip().endswith((".", ":")), name


@pytest.mark.parametrize("own", [stencil.run, stencil.Simulation, stencil.System, stencil.plan])
def test_what_is_called_has_every_argument_explained_and_an_example(own):
    text = inspect.getdoc(own)
    for argument in inspect.signature(own).parameters:
        assert argument in text or argument in inspect.getdoc(stencil), argument
    for part in [">>> ", "Raises"]:
        assert part in text, part
