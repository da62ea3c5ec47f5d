# SPDX-License-Identifier: MIT OR Apache-2.0
"""Gradients of systems."""

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


def gradient(system, steps, misfit, coefficients, parameters, memory):
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

    found = system._gradient(steps, asked, (*named, memory))
    start = {_short(*key): value for key, value in found["start"].items()}
    return Gradient(start, found["coefficients"], found["parameters"], found["sources"], found["steps_again"], found["constants"])
