# SPDX-License-Identifier: MIT OR Apache-2.0
"""Gradients of systems."""

import os
from typing import NamedTuple

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


def gradient(system, steps, misfit, coefficients, parameters, memory, keep_in, keep_as):
    if not callable(misfit):
        text = f"misfit must be a function of fields and records, not {type(misfit).__name__}"
        raise TypeError(f"{text}\nhelp: such as lambda fields, records: {{\"u\": fields[\"u\"] - measured}}")
    named = []
    for what, names in (("coefficients", coefficients), ("parameters", parameters)):
        if isinstance(names, str):
            raise InputError(f"{what} is the text {names!r}", "input", {}, f"give a list of names: {what}=[{names!r}]")
        named.append(list(names))

    def asked(values, records):
        said = misfit({_short(*key): value for key, value in values.items()}, records)
        fields, by_records = said if isinstance(said, tuple) else (said, None)
        keys = [(key if isinstance(key, tuple) else (key, 0), value) for key, value in fields.items()]
        return [(name, level, value) for (name, level), value in keys], by_records

    found = system._gradient(steps, asked, (*named, memory), _keeping(keep_in, keep_as))
    start = {_short(*key): value for key, value in found["start"].items()}
    return Gradient(start, found["coefficients"], found["parameters"], found["sources"], found["steps_again"], found["constants"])
