# SPDX-License-Identifier: MIT OR Apache-2.0
"""Systems of objects: a dict of the shape of a system's file, arrays and functions in the place of what a text says.

What the library is given is a recipe: `(place, text, folder, given)`. The text is that of a file; `given` has what
stands in the place of what the text says, as `(what, name, values)` with values that are texts or arrays.
"""

import inspect
import json
import re
from collections.abc import Mapping

import numpy as np

from . import _stencil
from ._arrays import on_gpu, on_host
from ._fields import number, numbers
from .errors import InputError

_AXES = ("z", "y", "x")
_BARE = re.compile(r"[A-Za-z0-9_-]+\Z")


def recipe(source, *, parameters, fields, coefficients, sources, solid, size, spacing, dtype, dt):
    """The recipe of a system."""
    given, of_text = [], []
    for name, value in _items("parameters", parameters):
        _give(given, "parameter", name, [number(f"parameters[{name!r}]", value)])
    for name, value in _items("fields", fields):
        _of_field(name, value, given)
    for name, value in _items("coefficients", coefficients):
        _of_coefficient(name, value, given)
    if sources is not None:
        given.append(("series", "", [rows("sources", sources)]))
    if solid is not None:
        _give(given, "solid", "", [solid])
    if dt is not None:
        _give(given, "dt", "", [number("dt", dt)])
    if spacing is not None:
        _give(given, "spacing", "", [number("spacing", each) for each in _several("spacing", spacing)])
    if size is not None:
        size = [_stencil.Computation._count("size", each, 1) for each in _several("size", size)]
    if isinstance(source, Mapping):
        place, folder = "the description", _stencil.current_folder()
        if sources is not None and "sources" in source:
            source = {**source, "sources": [{"add": 0, **each} for each in source["sources"]]}
        text, infers_dtype = _of_dict(source, of_text, size or _shape(given))
    else:
        place, text, folder = _stencil.described(source)
        infers_dtype = False
    given = of_text + given
    if extents := _shape(given) if size is None else size:
        _give(given, "size", "", [str(extent) for extent in extents])
    if dtype is not None:
        _give(given, "dtype", "", [_stencil.dtype_name(dtype)])
    elif infers_dtype and (own := _widest(given)):
        _give(given, "dtype", "", [own])
    return _called((place, text, folder, given))


def rows(what, values):
    """What sources add: a row for each source, a number for each step."""
    found = numbers(what, values)
    if found.ndim != 2 or found.size == 0:
        text = f"{what}: an array of shape {found.shape} is given for what sources add"
        raise InputError(text, "input", {"shape": found.shape}, "give a row for each source, and in it a number for each step")
    return found.astype(np.float64)


def coordinates(shape, spacing):
    """The coordinates of the points by axis: arrays that broadcast to the shape, as `numpy.ogrid` makes them."""
    names = _AXES[3 - len(shape) :]
    grids = np.ogrid[tuple(slice(extent) for extent in shape)]
    return {name: own * distance for name, own, distance in zip(names, grids, spacing, strict=True)}


def evaluated(what, function, known, shape):
    """The values of a function of coordinates at all points. Its arguments are named as the axes."""
    asked = _arguments(function, known)
    if asked is None:
        axes = ", ".join(name for name in known if name != "t")
        text = f"{what}: nobody knows what to call this function with"
        help = f"name its arguments after coordinates: of {axes} those that it needs, as in lambda {axes}: …"
        raise InputError(text, "input", {}, help)
    places, names = asked
    values = on_host(what, function(*(known[name] for name in places), **{name: known[name] for name in names}))
    if values.dtype.kind in "biuO":
        try:
            values = values.astype(np.float64)
        except (TypeError, ValueError):
            text = f"{what}: the function gives what are no numbers"
            raise InputError(text, "input", {}, "its arguments are arrays: compute with them as with numbers") from None
    try:
        return np.ascontiguousarray(np.broadcast_to(values, shape))
    except ValueError:
        text = f"{what}: the function gives values of shape {values.shape}, the grid has {tuple(shape)}"
        help = "its arguments are arrays that broadcast to the shape: compute with them as with numbers"
        raise InputError(text, "input", {}, help) from None


def _arguments(function, known):
    """The names of what a function is called with: by position, and by name; none if nobody knows."""
    axes = [name for name in known if name != "t"]
    if isinstance(function, np.ufunc):
        # The names of its arguments say nothing.
        return (axes, []) if function.nin == len(axes) and function.nout == 1 else None
    if isinstance(function, np.vectorize):
        # It takes anything, and gives it to this function.
        function = function.pyfunc
    try:
        every = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return None
    needed = [each for each in every if each.kind not in (each.VAR_POSITIONAL, each.VAR_KEYWORD)
              and (each.default is each.empty or each.name in known)]  # fmt: skip
    places = [each.name for each in needed if each.kind is each.POSITIONAL_ONLY]
    names = [each.name for each in needed if each.kind is not each.POSITIONAL_ONLY]
    if not set(places) <= set(known):
        # Names that say nothing: all coordinates in their order.
        if len(places) != len(axes):
            return None
        places = axes
    if not set(names) <= set(known) or len(needed) == 0 and len(every) > 0 and all(
        each.kind in (each.VAR_POSITIONAL, each.VAR_KEYWORD) for each in every
    ):
        return None
    return places, names


def _called(own):
    """A recipe whose functions are called: the grid is known when the rest is understood."""
    place, text, folder, given = own
    if not any(callable(each) for _, _, values in given for each in values):
        return own
    nothing = {"solid": "0 > 1", "keep": "0 > 1"}
    plain = [(what, name, [each if isinstance(each, str) else nothing.get(what, "0") for each in values])
             for what, name, values in given]  # fmt: skip
    shape, spacing, dt = _stencil.outline((place, text, folder, plain))
    known = coordinates(shape, spacing)

    def of(what, name, number, each):
        if not callable(each):
            return each
        time = -dt * (number + 1) if what == "before" else 0.0
        return evaluated(f"the {what} of '{name}'" if name else what, each, {**known, "t": time}, tuple(shape))

    return place, text, folder, [(what, name, [of(what, name, number, each) for number, each in enumerate(values)])
                                 for what, name, values in given]  # fmt: skip


def _of_dict(source, given, size):
    """The text of a dict, without what a text cannot hold; and whether it leaves the element type open. `size` is that of what is
    given besides, if it says one."""
    tables = {key: value for key, value in source.items() if value is not None}
    grid = dict(_table("grid", tables.get("grid", {})))
    if not _is_plain(grid.get("solid")):
        _give(given, "solid", "", [grid.pop("solid")])
    infers_dtype = "dtype" not in grid
    if not isinstance(grid.get("dtype", ""), str):
        grid["dtype"] = _stencil.dtype_name(grid["dtype"])
    time = dict(_table("time", tables.get("time", {})))
    if "until" not in time:
        time.setdefault("steps", 0)
    fields = {}
    for name, table in _table("fields", tables.get("fields", {})).items():
        fields[name] = _without_arrays("field", name, dict(_table(f"fields[{name!r}]", table)), given)
    coefficients = {}
    for name, table in _table("coefficients", tables.get("coefficients", {})).items():
        table = dict(table) if isinstance(table, Mapping) else {"start": table}
        coefficients[name] = _without_arrays("coefficient", name, table, given)
    for key in ("sources", "receivers"):
        if key in tables:
            tables[key] = [each for table in tables[key] for each in _places(key, table)]
    if "size" not in grid:
        # Whoever gives arrays gives their shape.
        grid["size"] = list(_shape(given) or size or [])
        if not grid["size"]:
            text = "the description: the size of the grid is not known"
            raise InputError(text, "input", {}, 'give "grid": {"size": [480, 640]}, or arrays for fields')
    tables |= {"grid": grid, "time": time, "fields": fields}
    if coefficients:
        tables["coefficients"] = coefficients
    lines = []
    _write([], tables, lines)
    return "\n".join(lines) + "\n", infers_dtype


def _without_arrays(kind, name, table, given):
    start = table.get("start")
    if not _is_plain(start):
        _give(given, "start", name, [start])
        table["start"] = 0
    if kind == "field":
        if not _is_plain(table.get("keep")):
            _give(given, "keep", name, [table.pop("keep")])
        before = table.get("before")
        several = list(before) if isinstance(before, (list, tuple)) else [before]
        if not all(_is_plain(each) for each in several):
            _give(given, "before", name, several)
            del table["before"]
    return table


def _of_field(name, value, given):
    if not isinstance(value, Mapping):
        _give(given, "start", name, [value])
        return
    for key, each in value.items():
        if key in ("start", "keep"):
            _give(given, key, name, [each])
        elif key == "before":
            _give(given, key, name, list(each) if isinstance(each, (list, tuple)) else [each])
        elif key == "boundary":
            _give(given, key, name, [str(each)])
        else:
            text = f"fields[{name!r}]: there is no key '{key}' here"
            raise InputError(text, "input", {}, "it may be start, before, keep, boundary")


def _of_coefficient(name, value, given):
    table = value if isinstance(value, Mapping) else {"start": value}
    for key, each in table.items():
        if key not in ("start", "boundary"):
            text = f"coefficients[{name!r}]: there is no key '{key}' here"
            raise InputError(text, "input", {}, "it may be start, boundary")
        _give(given, "coefficient" if key == "start" else key, name, [str(each) if key == "boundary" else each])


def _places(key, table):
    """A table for each place of an array with a row for each."""
    at = table.get("at") if isinstance(table, Mapping) else None
    if at is None or isinstance(at, str):
        return [table]
    array = on_host(f"the places of {key}", at)
    rows = at if isinstance(at, (list, tuple)) else array
    if array.ndim < 2:
        return [{**table, "at": list(rows) if array.ndim else at}]
    return [{**table, "at": list(row)} for row in rows]


def _is_plain(value):
    """Whether a text can hold it: a number, a text, nothing."""
    return value is None or isinstance(value, (str, int, float, np.number)) and not callable(value)


def _give(given, what, name, values):
    given.append((what, name, [_value(what, name, each) for each in values]))


def _value(what, name, value):
    """A text, an array or a function as the library takes it."""
    if isinstance(value, str) or callable(value) or on_gpu(value):
        return value
    if _is_plain(value) and value is not None:
        return number(name or what, value)
    value = on_host(f"the {what} of '{name}'" if name else what, value)
    return number(name or what, value.item()) if value.shape == () and value.dtype != object else value


def _several(what, value):
    """One value, or those of a list or an array."""
    is_array = hasattr(value, "__array__") or hasattr(value, "__dlpack__")
    if isinstance(value, (str, np.generic)) or not is_array:
        return value if isinstance(value, (list, tuple)) else [value]
    return on_host(what, value).reshape(-1)


def _items(argument, value):
    if value is None:
        return []
    if not isinstance(value, Mapping):
        raise TypeError(f"{argument} must be a dict from names to values, not {type(value).__name__}\n"
                        f"help: write {argument}={{\"name\": value}}")  # fmt: skip
    return value.items()


def _table(what, value):
    if not isinstance(value, Mapping):
        raise TypeError(f"{what} must be a dict, not {type(value).__name__}\n"
                        "help: it has the keys of the table of that name in docs/reference/system-files.md")  # fmt: skip
    return value


def _arrays(given, *whats):
    return [each for what, _, values in given if what in whats for each in values if getattr(each, "shape", ())]


def _shape(given):
    """The extents of the first array that is given for a grid."""
    for each in _arrays(given, "start", "before", "coefficient", "solid", "keep"):
        return tuple(each.shape)
    return None


def _widest(given):
    """The widest element type of the arrays that fields start with; none if they hold whole numbers only."""
    names = [str(getattr(each, "dtype", "float64")).rpartition(".")[2] for each in _arrays(given, "start", "before")]
    order = ["float16", "bfloat16", "float32", "float64"]
    known = [order.index(name) for name in names if name in order]
    if not known:
        return None
    if {"float16", "bfloat16"} <= set(names) and max(known) < 2:
        return "f32"
    return ["f16", "bf16", "f32", "f64"][max(known)]


def _write(path, table, lines):
    """A table as TOML: its own values first, then the tables in it."""
    own = {key: value for key, value in table.items() if not _is_table(value)}
    if own and path:
        lines.append(f"[{'.'.join(map(_key, path))}]")
    elif path and not table:
        lines.append(f"[{'.'.join(map(_key, path))}]")
    for key, value in own.items():
        if value is not None:
            lines.append(f"{_key(key)} = {_toml([*path, key], value)}")
    for key, value in table.items():
        if isinstance(value, Mapping):
            _write([*path, key], value, lines)
        elif _is_table(value):
            for each in value:
                lines.append(f"[[{'.'.join(map(_key, [*path, key]))}]]")
                for name, item in each.items():
                    lines.append(f"{_key(name)} = {_toml([*path, key, name], item)}")


def _is_table(value):
    several = isinstance(value, (list, tuple)) and len(value) > 0
    return isinstance(value, Mapping) or several and all(isinstance(each, Mapping) for each in value)


def _key(name):
    return name if _BARE.match(str(name)) else _quoted(str(name))


def _quoted(text):
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _toml(path, value):
    if isinstance(value, np.generic):
        value = value.item()
    elif hasattr(value, "__array__") or hasattr(value, "__dlpack__"):
        value = on_host(".".join(map(str, path)), value).tolist()
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return _quoted(value)
    if isinstance(value, (int, float)):
        return repr(value)
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(_toml(path, each) for each in value)}]"
    raise TypeError(f"{'.'.join(map(str, path))} must be a number, a text or a list, not {type(value).__name__}\n"
                    "help: arrays and functions are for the start of fields and coefficients, for before, keep and solid")  # fmt: skip
