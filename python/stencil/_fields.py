# SPDX-License-Identifier: MIT OR Apache-2.0
"""Fields and parameters of a computation as objects that read and change them."""

from collections.abc import MutableMapping

import numpy as np

from ._arrays import on_gpu, on_host
from .errors import InputError


def numbers(what, value):
    """Values of a field as an array of numpy, whatever has none refused."""
    found = on_host(what, value)
    if found.dtype.kind in "SUT":
        text = f"the text {value!r} is given for {what}" if isinstance(value, str) else f"texts are given for {what}"
        help = "an expression is for the start, as in System(…, fields={…}): give a function, as lambda x: …, or an array"
        raise InputError(text, "input", {}, help)
    return found


def _plain(value):
    """An array of its own of the values of a field; anything else as it is."""
    return value.__array__() if isinstance(value, Field) else value


def number(what, value):
    """A number, or an expression, as a text."""
    if isinstance(value, str):
        return value
    try:
        return repr(float(value))
    except (TypeError, ValueError):
        text = f"{what} must be a number or an expression, not {type(value).__name__}"
        raise TypeError(f"{text}\nhelp: give a number, or a text of the language such as \"2*pi\"") from None


class Field(np.lib.mixins.NDArrayOperatorsMixin):
    """A field of a computation as it is now: what `system["u"]` gives.

    It has no values of its own. Reading copies the field from where it is computed, as an array of numpy; assigning to a
    part of it, in numpy's words, copies the field, changes it, and gives it back: so gather what is to be changed, and
    assign once. It computes as an array does: `system["u"] + 1`, `numpy.mean(system["u"])`; and has what arrays have, of the
    values as they are now: `system["u"].max()`, `system["u"].T`.

        >>> import numpy as np, stencil
        >>> rod = stencil.Simulation(np.array([0.25, 0.5, 0.25]), np.zeros(5))
        >>> rod["u"][1:3] = 8
        >>> rod["u"] += 1
        >>> rod["u"][:].tolist()
        [1.0, 9.0, 9.0, 1.0, 1.0]
    """

    __slots__ = ("_level", "_name", "_of")

    def __init__(self, of, name, level):
        self._of, self._name, self._level = of, name, level

    @property
    def name(self):
        """Its name."""
        return self._name

    @property
    def shape(self):
        """Its extents, the slowest axis first."""
        return self._of.shape

    @property
    def ndim(self):
        """The number of its axes."""
        return len(self.shape)

    @property
    def size(self):
        """The number of its values."""
        return int(np.prod(self.shape))

    @property
    def dtype(self):
        """The type of its values, of numpy."""
        return self.__array__().dtype

    def __array__(self, dtype=None, copy=None):
        if copy is False:
            raise ValueError("the values lie where they are computed: they can only be copied")
        values = self._of._level(self._name, self._level)
        return values if dtype is None else values.astype(dtype, copy=False)

    def __len__(self):
        return self.shape[0]

    def __getitem__(self, key):
        return self.__array__()[key]

    def __setitem__(self, key, value):
        name = f"a part of the field '{self._name}'"
        if callable(value) and not hasattr(value, "__array__"):
            help = f'compute its values, or set the whole field: system["{self._name}"] = function'
            raise InputError(f"a function is given for {name}", "input", {}, help)
        whole = key is Ellipsis or isinstance(key, slice) and key == slice(None)
        if whole and on_gpu(value) and tuple(value.shape) == self.shape:
            self._of._set(self._name, self._level, value)
            return
        values, given = self.__array__(), numbers(name, value)
        try:
            values[key] = given
        except ValueError:
            text = f"values of shape {given.shape} are given for {name}, whose shape is {np.shape(values[key])}"
            help = "give an array of that shape, or one that broadcasts to it, or a number"
            raise InputError(text, "input", {"shape": given.shape}, help) from None
        self._of._set(self._name, self._level, values)

    def __iter__(self):
        return iter(self.__array__())

    def __getattr__(self, name):
        # What arrays have, of the values as they are now. Whoever writes into such an array would change nothing.
        if name.startswith("_") or not hasattr(np.ndarray, name):
            raise AttributeError(f"a field has no attribute '{name}'")
        values = self.__array__()
        values.flags.writeable = False
        return getattr(values, name)

    def __array_ufunc__(self, ufunc, method, *inputs, out=None, **options):
        plain = [_plain(each) for each in inputs]
        options = {name: _plain(each) for name, each in options.items()}
        if method == "at":
            ufunc.at(*plain, **options)
            if isinstance(inputs[0], Field):
                inputs[0][...] = plain[0]
            return None
        if out is None:
            return getattr(ufunc, method)(*plain, **options)
        # Values that are not computed, as by `where`, stay as they are.
        targets = tuple(_plain(each) for each in out)
        found = getattr(ufunc, method)(*plain, out=targets, **options)
        for own, target in zip(out, targets, strict=True):
            if isinstance(own, Field):
                own[...] = target
        found = found if isinstance(found, tuple) else (found,)
        given = tuple(each if own is None else own for own, each in zip(out, found, strict=True))
        return given if len(given) > 1 else given[0]

    def __repr__(self):
        before = f", {self._level} steps before" if self._level else ""
        return f"<field '{self._name}'{before} of {'x'.join(map(str, self.shape))} values>"

    def is_of(self, of, name, level):
        """Whether it is this field of a computation."""
        return self._of is of and (self._name, self._level) == (name, level)


class Parameters(MutableMapping):
    """The constants of a system, by name: what `system.parameters` gives.

    Assigning a number, or an expression of constants, changes the system from the next step on: whatever is made of the
    constant is computed anew. Fields stay, and time goes on.

        >>> import stencil
        >>> spots = stencil.System("gray-scott", size=(32, 32), engine="cpu")
        >>> spots.step(10)
        >>> spots.parameters["feed"] = 0.03
        >>> spots.parameters["feed"], len(spots.parameters)
        (0.03, 4)
    """

    __slots__ = ("_of",)

    def __init__(self, of):
        self._of = of

    def __getitem__(self, name):
        known = self._of._parameters()
        if name not in known:
            there = f"it has {', '.join(known)}" if known else "it has none"
            raise KeyError(f"there is no parameter {name!r}: {there}")
        return known[name]

    def __setitem__(self, name, value):
        self.update({name: value})

    def update(self, other=(), /, **more):
        """Gives several constants other values at once; where one of them makes no sense, none of them."""
        given = {name: number(f"parameters[{name!r}]", value) for name, value in dict(other, **more).items()}
        if given:
            self._of._set_parameters(list(given.items()))
            self._of._changed(given)

    def __delitem__(self, name):
        raise TypeError(f"the parameter '{name}' is part of the system\nhelp: give it another value")

    def __iter__(self):
        return iter(self._of._parameters())

    def __len__(self):
        return len(self._of._parameters())

    def __repr__(self):
        return repr(self._of._parameters())
