# SPDX-License-Identifier: MIT OR Apache-2.0
"""Fields and parameters of a computation as objects that read and change them."""

from collections.abc import MutableMapping

import numpy as np


class Field(np.lib.mixins.NDArrayOperatorsMixin):
    """A field of a computation as it is now: what `system["u"]` gives.

    It has no values of its own. Reading copies the field from where it is computed, as an array of numpy; assigning to a
    part of it, in numpy's words, copies the field, changes it, and gives it back: so gather what is to be changed, and
    assign once. It computes as an array does: `system["u"] + 1`, `numpy.mean(system["u"])`.

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
        values = self.__array__()
        values[key] = value
        self._of._set(self._name, self._level, values)

    def __array_ufunc__(self, ufunc, method, *inputs, out=None, **options):
        plain = [np.asarray(each) if isinstance(each, Field) else each for each in inputs]
        found = getattr(ufunc, method)(*plain, **options)
        if out is None:
            return found
        for target in out:
            target[...] = found
        return out[0]

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
        return self._of._parameters()[name]

    def __setitem__(self, name, value):
        from ._describe import _number

        self._of._set_parameter(name, _number(f"parameters[{name!r}]", value))

    def __delitem__(self, name):
        raise TypeError(f"the parameter '{name}' is part of the system\nhelp: give it another value")

    def __iter__(self):
        return iter(self._of._parameters())

    def __len__(self):
        return len(self._of._parameters())

    def __repr__(self):
        return repr(self._of._parameters())
