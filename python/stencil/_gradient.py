# SPDX-License-Identifier: MIT OR Apache-2.0
"""Gradients of systems."""

import os
from typing import NamedTuple

import numpy as np

from ._fields import numbers
from .errors import InputError


class Gradient(NamedTuple):
    """How a number changes with what steps began with; see `System.gradient`."""

    start: dict
    coefficients: dict
    parameters: dict
    sources: object
    steps_again: int
    constants: list


def _short(name, level):
    return name if level == 0 else (name, level)


def _keeping(keep_in, keep_as):
    """Where states are kept: `gpu` or `memory`, a folder; and as which type."""
    if keep_in in (None, "gpu", "memory"):
        return keep_in, None, keep_as
    try:
        folder = os.fspath(keep_in)
    except TypeError:
        raise TypeError(f"keep_in must be \"gpu\", \"memory\" or the path of a folder, not {type(keep_in).__name__}") from None
    if not os.path.isdir(folder):
        raise InputError(f"there is no folder {folder!r} to keep states in", "input", {}, "make it, or take keep_in=\"memory\"")
    return None, folder, keep_as


def checked(shots, steps):
    """What sources add in shots as an array (shots, sources, steps)."""
    found = numbers("the shots", shots)
    if found.ndim != 3 or 0 in found.shape[:2] or found.shape[2] != steps:
        text = f"the shots: an array of shape {found.shape} is given for {steps} steps"
        raise InputError(text, "input", {"shape": found.shape}, "give an array (shots, sources, steps)")
    # Where there are no steps, a row is of one number that nobody adds.
    return found.astype(np.float64) if steps else np.zeros((*found.shape[:2], 1))


def _by_totals(said, names):
    """Rows of derivatives by all totals, of a dict of numbers after the last step, or of each step."""
    unknown = [name for name in said if name not in names]
    if unknown:
        text = f"the misfit has a derivative by {unknown[0]!r}, which is no total"
        raise InputError(text, "input", {}, f"there is {', '.join(names)}" if names else "")
    if not names:
        return None
    columns = [numbers(f"the derivatives by {name!r}", said.get(name, 0.0)) for name in names]
    rows = max(column.size for column in columns)
    columns = [np.zeros(rows) if column.ndim == 0 and not column else column for column in columns]
    if any(column.ndim > 1 or column.size != rows for column in columns):
        text = "the derivatives by totals are arrays of different shapes"
        raise InputError(text, "input", {}, "give a number for each, or an array of one for each step")
    return np.column_stack([column.reshape(rows) for column in columns])


def gradient(system, steps, misfit, coefficients, parameters, totals, memory, keep_in, keep_as, *, shots=None):
    if not callable(misfit):
        text = f"misfit must be a function of fields and records, not {type(misfit).__name__}"
        raise TypeError(f"{text}\nhelp: such as lambda fields, records: {{\"u\": fields[\"u\"] - measured}}")
    named = []
    for what, names in (("coefficients", coefficients), ("parameters", parameters)):
        if isinstance(names, str):
            raise InputError(f"{what} is the text {names!r}", "input", {}, f"give a list of names: {what}=[{names!r}]")
        named.append(list(names))

    names = list(system.totals()) if totals else []
    if totals and not names:
        raise InputError("the system has no totals", "input", {}, "leave totals=True out")

    def asked(values, records, after, shot):
        told = (dict(zip(names, after, strict=True)),) if totals else ()
        if shot is not None:
            told = (*told, shot)
        said = misfit({_short(*key): value for key, value in values.items()}, records, *told)
        fields, by_records, by_totals = ((*said, None, None) if isinstance(said, tuple) else (said, None, None))[:3]
        if by_totals is not None:
            by_totals = _by_totals(by_totals, names)
        keys = [(key if isinstance(key, tuple) else (key, 0), value) for key, value in fields.items()]
        return [(name, level, value) for (name, level), value in keys], by_records, by_totals

    by, keeping = (*named, bool(totals), memory), _keeping(keep_in, keep_as)
    if shots is None:
        own = system._gradient(steps, asked, by, keeping)
        sources = own["sources"]
    else:
        steps = system._count("steps", steps, 0)
        own = system._gradient_of_shots(steps, asked, by, keeping, list(checked(shots, steps)))
        sources = np.stack(own["sources"])
    start = {_short(*key): value for key, value in own["start"].items()}
    return Gradient(start, own["coefficients"], own["parameters"], sources, own["steps_again"], own["constants"])
