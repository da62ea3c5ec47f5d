# SPDX-License-Identifier: MIT OR Apache-2.0
"""Systems as functions of torch: `stencil.torch.run`, with gradients. It needs the package torch, which `stencil` itself does not.

    >>> import stencil, torch
    >>> rod = {
    ...     "time": {"dt": 0.2},
    ...     "stencils": {"up": {"derivative": "x+", "order": 2}, "down": {"derivative": "x-", "order": 2}},
    ...     "fields": {"u": {"start": 0, "boundary": "edge", "next": "u + dt*down(k*up(u))"}},
    ... }
    >>> u = torch.linspace(0, 1, 8, dtype=torch.float64)
    >>> k = torch.ones(8, dtype=torch.float64, requires_grad=True)
    >>> after = stencil.torch.run(rod, 10, fields={"u": u}, coefficients={"k": k})
    >>> after.fields["u"].square().sum().backward()
    >>> k.grad.shape
    torch.Size([8])
"""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import torch

from ._computations import System
from .errors import InputError

__all__ = ["Run", "run"]


class Run(NamedTuple):
    """What `stencil.torch.run` returns: tensors, which know their gradients."""

    fields: dict
    records: torch.Tensor
    times: torch.Tensor


def run(
    source,
    steps,
    *,
    fields=None,
    coefficients=None,
    parameters=None,
    sources=None,
    solid=None,
    size=None,
    spacing=None,
    dtype=None,
    dt=None,
    engine="auto",
    memory=None,
    keep_in=None,
    keep_as=None,
):
    """Takes `steps` steps of a system, as a function of torch that can be differentiated.

    The arguments are those of `stencil.System`. What is a tensor among the starts of fields (also in `before`), coefficients, parameters and
    `sources` has a gradient, if it requires one: `backward` computes it by the adjoint system (`System.gradient`), for which it takes
    the steps again. Between the two only the tensors are kept. `memory`, `keep_in` and `keep_as` are those of `System.gradient`.

    `sources`, a tensor (sources, steps), is what each source adds in each step, in the place of its `add`, as wavelets are. With
    (shots, sources, steps) the steps are taken once for each shot, by what is planned once; what the shots do not have of their own
    (starts, media, parameters) has the sum of their gradients. A shot at another place is a source there that adds 0 in the other shots.

    Returns `fields`, a dict of tensors after the last step by name, and by `(name, level)` of earlier steps; `records`, a tensor with a row
    for the start and for each step, and a column for each receiver; and the `times` of these rows (none without receivers). With shots each of `fields` and
    `records` has an axis for them in front. They lie where the tensors lie that are given, and are of the system's type (records at least of
    float32). `dtype`, if neither it nor a description that is a dict says one, is the widest of the tensors'. Arrays of numpy must not change before `backward`.

    A gradient of a gradient is refused by torch; what is constant in a derivative is that of `System.gradient`. Raises what
    `System` and `System.gradient` raise.
    """
    _check(source, "the description")
    for what, value in {"solid": solid, "size": size, "spacing": spacing, "dt": dt}.items():
        _check(value, what)
    inputs = _Inputs()
    given = {
        "fields": inputs.fields(fields),
        "coefficients": inputs.by_name("coefficient", coefficients),
        "parameters": inputs.parameters(parameters),
        "sources": inputs.value("sources", "", sources),
    }
    if dtype is None and isinstance(source, Mapping) and "dtype" not in source.get("grid", {}):
        dtype = inputs.dtype()
    others = {"solid": solid, "size": size, "spacing": spacing, "dtype": dtype, "dt": dt, "engine": engine}
    kept = {"memory": memory, "keep_in": keep_in, "keep_as": keep_as}
    job = _Job(source, steps, given, others, kept, inputs.keys)
    found = _Steps.apply(job, *inputs.tensors)
    *arrays, records = found
    return Run(dict(zip(job.names, arrays, strict=True)), records, job.times)


def _check(value, what):
    """Refuses a gradient that would be lost."""
    if isinstance(value, torch.Tensor) and value.requires_grad:
        text = f"{what} is a tensor that requires a gradient"
        raise InputError(text, "input", {}, "give it as an argument: fields={…}, coefficients={…}, parameters={…} or sources=…")
    if isinstance(value, Mapping):
        for name, each in value.items():
            _check(each, f"{what}[{name!r}]")
    elif isinstance(value, (list, tuple)):
        for number, each in enumerate(value):
            _check(each, f"{what}[{number}]")


class _Place(NamedTuple):
    """In the place of a tensor: its number among those that are given."""

    number: int


class _Inputs:
    """The tensors among what is given, and what each of them is: `(what, name, level)`."""

    def __init__(self):
        self.tensors, self.keys = [], []

    def value(self, what, name, value, level=0):
        if not isinstance(value, torch.Tensor):
            return value
        self.tensors.append(value)
        self.keys.append((what, name, level))
        return _Place(len(self.tensors) - 1)

    def fields(self, fields):
        if not isinstance(fields, Mapping):
            return fields
        return {name: self._field(name, each) for name, each in fields.items()}

    def _field(self, name, value):
        if not isinstance(value, Mapping):
            return self.value("field", name, value)
        table = dict(value)
        if "start" in table:
            table["start"] = self.value("field", name, table["start"])
        if "before" in table:
            before = table["before"]
            before = before if isinstance(before, (list, tuple)) else [before]
            table["before"] = [self.value("field", name, each, 1 + level) for level, each in enumerate(before)]
        return table

    def by_name(self, what, values):
        if not isinstance(values, Mapping):
            return values

        def of(name, each):
            if not isinstance(each, Mapping):
                return self.value(what, name, each)
            return {key: self.value(what, name, value) if key == "start" else value for key, value in each.items()}

        return {name: of(name, each) for name, each in values.items()}

    def parameters(self, values):
        found = self.by_name("parameter", values)
        for tensor, (what, name, _) in zip(self.tensors, self.keys, strict=True):
            if what == "parameter" and tensor.numel() != 1:
                text = f"parameters[{name!r}]: a tensor of shape {tuple(tensor.shape)} is no number"
                raise InputError(text, "input", {}, "give a tensor of one value; what varies in space is a coefficient")
        return found

    def dtype(self):
        """The widest type of the tensors; none if there are none of numbers with fractions."""
        types = [tensor.dtype for tensor in self.tensors if tensor.is_floating_point()]
        if not types:
            return None
        widest = types[0]
        for each in types[1:]:
            widest = torch.promote_types(widest, each)
        return str(widest).rpartition(".")[2]


class _Job:
    """A run, but for its tensors, and what is known of it afterwards."""

    def __init__(self, source, steps, given, others, kept, keys):
        self.source, self.steps, self.given, self.others, self.kept, self.keys = source, steps, given, others, kept, keys
        self.names, self.times, self.shapes = [], None, {}

    def system(self, tensors):
        """The system, and what its sources add in each shot, if there are shots."""

        def filled(value):
            if isinstance(value, _Place):
                return _given(tensors[value.number], self.keys[value.number])
            if isinstance(value, Mapping):
                return {name: filled(each) for name, each in value.items()}
            return [filled(each) for each in value] if isinstance(value, list) else value

        given = filled(self.given)
        shots = None
        if given["sources"] is not None and np.ndim(given["sources"]) == 3:
            shots = np.asarray(given["sources"])
            given["sources"] = shots[0] if len(shots) else shots.reshape(shots.shape[1:])
        if given["sources"] is not None and np.shape(given["sources"])[-1] == 0:
            # Nobody adds them.
            given["sources"] = np.zeros((len(given["sources"]), 1))
        return System(self.source, **given, **self.others), shots


def _given(tensor, key):
    """A tensor as a system takes it."""
    tensor = tensor.detach()
    if key[0] == "parameter":
        return tensor.item()
    if key[0] == "sources":
        return tensor.double().cpu().numpy()
    if tensor.dtype == torch.bfloat16 and not tensor.is_cuda:
        # numpy has no such type.
        tensor = tensor.float()
    return tensor.contiguous()


class _Steps(torch.autograd.Function):
    """The steps of a system, and back over them by its adjoint."""

    @staticmethod
    def forward(ctx, job, *tensors):
        ctx.job, ctx.count = job, len(tensors)
        ctx.save_for_backward(*tensors)
        ctx.set_materialize_grads(False)
        system, shots = job.system(tensors)
        device = next((tensor.device for tensor in tensors if tensor.is_cuda), torch.device("cpu"))
        arrays, records = [], []
        for _ in _each(system, job.steps, shots):
            arrays.append(_fields(system, device))
            records.append(system.records())
        dtype = getattr(torch, {"f16": "float16", "bf16": "bfloat16", "f32": "float32", "f64": "float64"}[system.report()["dtype"]])
        wide = torch.promote_types(dtype, torch.float32)
        job.names = [name for name, _ in arrays[0]]
        job.times = torch.from_numpy(np.ascontiguousarray(records[0][:, 0] if records[0].size else np.zeros(0)))

        def together(parts, dtype):
            tensor = parts[0] if shots is None else torch.stack(parts)
            return tensor.to(device=device, dtype=dtype)

        fields = [together([own[number][1] for own in arrays], dtype) for number in range(len(job.names))]
        rows = [torch.from_numpy(own[:, 1:].copy() if own.size else np.zeros((job.steps + 1, 0))) for own in records]
        return (*fields, together(rows, wide))

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, *outputs):
        job, tensors = ctx.job, ctx.saved_tensors
        needed = [key for key, needs in zip(job.keys, ctx.needs_input_grad[1:], strict=True) if needs]
        if not needed or all(each is None for each in outputs):
            return (None, *[None] * len(tensors))
        system, shots = job.system(tensors)
        *by_fields, by_records = [each if each is None else _array(each) for each in outputs]

        def misfit(fields, records, shot=None):
            def own(each):
                return each if shot is None else each[shot]

            said = {name: own(each) for name, each in zip(job.names, by_fields, strict=True) if each is not None}
            return said if by_records is None or by_records.shape[-1] == 0 else (said, own(by_records))

        found = system.gradient(
            job.steps,
            misfit,
            coefficients=[name for what, name, _ in needed if what == "coefficient"],
            parameters=[name for what, name, _ in needed if what == "parameter"],
            shots=shots,
            **job.kept,
        )
        gradients = []
        alone = system._with_before()
        for key, tensor, needs in zip(job.keys, tensors, ctx.needs_input_grad[1:], strict=True):
            gradients.append(_back(_of(found, key, alone, tensor.shape[-1] if tensor.ndim else 1), tensor) if needs else None)
        return (None, *gradients)


def _each(system, steps, shots):
    """Takes the steps, of each shot."""
    if shots is not None:
        return system.shots(steps, shots)
    system.step(steps)
    return [0]


def _fields(system, device):
    """The fields as they are now, and as they were in the steps before that equations read: names and tensors."""
    found = []
    for name in system.fields:
        for level in range(3):
            try:
                if device.type == "cuda":
                    own = torch.from_dlpack(system._level_on_device(name, level))
                else:
                    own = _tensor(system._level(name, level))
            except InputError:
                if level == 0:
                    raise
                break
            found.append((_short(name, level), own))
    return found


def _tensor(array):
    """A tensor of an array of numpy; of bfloat16 one of float32, which torch takes."""
    known = array.dtype.name in ("float16", "float32", "float64")
    return torch.from_numpy(array if known else array.astype(np.float32))


def _short(name, level):
    return name if level == 0 else (name, level)


def _array(tensor):
    """A derivative as an array of numpy."""
    tensor = tensor.detach()
    return (tensor.float() if tensor.dtype == torch.bfloat16 else tensor).cpu().numpy()


def _of(found, key, alone, count):
    """The gradient of an input, as an array or a number; fields in `alone` begin with earlier values of their own."""
    what, name, level = key
    if what == "coefficient":
        return found.coefficients[name]
    if what == "parameter":
        return found.parameters[name]
    if what == "sources":
        return _columns(found.sources, count)
    start = found.start[_short(name, level)]
    if level or name in alone:
        return start
    # Earlier values are those of the start.
    levels = [each for own, each in found.start.items() if isinstance(own, tuple) and own[0] == name]
    return sum(levels, start)


def _columns(found, count):
    """The gradient of `count` columns of what sources add, by that of each step: the last column is added in all steps after it, too."""
    steps = found.shape[-1]
    if count >= steps:
        return np.concatenate([found, np.zeros((*found.shape[:-1], count - steps), found.dtype)], axis=-1)
    return np.concatenate([found[..., : count - 1], found[..., count - 1 :].sum(axis=-1, keepdims=True)], axis=-1)


def _back(found, tensor):
    """A gradient as a tensor like the input; of one value that all points had the sum."""
    found = torch.as_tensor(np.asarray(found, np.float64 if np.ndim(found) == 0 else None))
    if found.shape != tensor.shape:
        found = found.sum().reshape(tensor.shape) if tensor.numel() == 1 else found.reshape(tensor.shape)
    return found.to(device=tensor.device, dtype=tensor.dtype)
