# SPDX-License-Identifier: MIT OR Apache-2.0
"""The types that editors read (`stencil/__init__.pyi`) are those of the package: names, arguments, and the values that
a choice has in the library."""

import ast
import inspect
import os
import pathlib
import sys

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
    assert set(stated) == {name for name in vars(stencil) if not name.startswith("_") and name not in ("errors", "torch")} | {"__version__"}


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
    several = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    found = {each.name: each.default for each in parameters if each.name not in ("self", "cls") and each.kind not in several}
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


TYPED = '''
import numpy as np
import stencil

u = np.ones((9, 9), np.float32)
own = stencil.Simulation("star2d1r", u, boundary={"x": "periodic"}, dtype=np.float64)
own["u"] = 3
own["u"] = u
own["u"] = lambda x, y: np.sin(x) * y
own["u"][2:3] = 1
own.step(3, progress=print)
reveal_type(own.copy())
reveal_type(own.field())
reveal_type(own.field("u", device="cuda"))
reveal_type(own["u"])
reveal_type(own["u"] + 1)
reveal_type(own.field("u", "cuda"))
reveal_type(own["u"].astype("f4"))
reveal_type(own["u"].T)
own["u"][2:3] = own["u"]
own["u"].max()
"u" in own
for name in own:
    reveal_type(name)
for now in own.observe(10, 5, last=True, progress=True):
    reveal_type(now)
names = own.save("u_{step}.vti", fields=["u"], stride=2)
reveal_type(names)
spots = stencil.System("gray-scott", parameters={"feed": 0.04, "kill": "2*feed"}, fields={"u": u, "v": {"start": "x"}})
spots.parameters["feed"] = 0.03
spots.parameters["kill"] = "feed"
spots["u", 1] = u
reveal_type(spots.parameters["feed"])
reveal_type(spots.totals())
stencil.System({"fields": {"u": {"start": u, "next": "u"}}}, dt=0.5, size=(9, 9), spacing=["1", 2.0], solid=u > 2)
try:
    own.step(2)
except stencil.NotFiniteError as error:
    reveal_type(error.help)
'''

REVEALED = [
    "Simulation",
    "ndarray",
    "DeviceArray",
    "Field",
    "Any",
    "DeviceArray",
    "ndarray",
    "ndarray",
    "str",
    "Simulation",
    "list[",
    "float",
    "dict[",
    "str",
]

WRONG = [
    'stencil.run("star2d1r", u, "3")',
    'stencil.run("star2d1r", u, 3, engine="gpu")',
    'own.step(3, progress="yes")',
    "own[3]",
    'own["u"].maxx()',
    'own.save(3)',
    'spots.parameters["feed"] = None',
    'stencil.System("gray-scott", parameters=[1])',
    'stencil.System("gray-scott", steps=3)',
    'own.field("u", device="tpu")',
]


def checked(tmp_path, text):
    api = pytest.importorskip("mypy.api")
    path = tmp_path / "typed.py"
    path.write_text(text)
    folder = pathlib.Path(stencil.__file__).parent
    before = dict(os.environ)
    # Where packages are installed mypy looks by itself, and refuses to be told.
    if folder.parent.name != "site-packages":
        os.environ["MYPYPATH"] = str(folder.parent)
    try:
        told, failed, _ = api.run([str(path), "--strict", "--no-color-output", "--hide-error-context",
                                   "--cache-dir", str(tmp_path), "--python-executable", sys.executable])  # fmt: skip
    finally:
        os.environ.clear()
        os.environ.update(before)
    assert not failed, failed
    return told.splitlines()


def test_the_types_are_those_of_what_users_write(tmp_path):
    told = checked(tmp_path, TYPED)
    assert not [line for line in told if " error: " in line], "\n".join(told)
    revealed = [line.split('Revealed type is "')[1] for line in told if "Revealed type" in line]
    assert len(revealed) == len(REVEALED)
    for found, expected in zip(revealed, REVEALED):
        assert expected in found, (found, expected)


def test_mistakes_are_seen_before_they_run(tmp_path):
    told = checked(tmp_path, TYPED + "\n".join(WRONG) + "\n")
    first = TYPED.count("\n") + 1
    lines = {int(line.split(":")[1]) for line in told if " error: " in line}
    assert lines == set(range(first, first + len(WRONG))), "\n".join(told)
