# SPDX-License-Identifier: MIT OR Apache-2.0
"""`Simulation` and `System`."""

import os
from collections.abc import Iterable, Mapping

import numpy as np

from . import _describe, _gradient, _shown, _stencil
from ._arrays import on_gpu, on_host
from ._fields import Field, Parameters, numbers
from .errors import InputError


def _options(boundary, dtype, engine, kernel, fuse, chain, jump):
    return {
        "boundary": boundary,
        "dtype": dtype,
        "engine": engine,
        "kernel": kernel,
        "fuse": fuse,
        "chain": chain,
        "jump": jump,
    }


def _path(path):
    if not isinstance(path, (str, bytes, os.PathLike)):
        raise TypeError(f"path must be the name of a file, not {type(path).__name__}\n"
                        "help: write it in quotes, or give a pathlib.Path")  # fmt: skip


class _Computation:
    """What both kinds of computations can do."""

    __slots__ = ()

    def step(self, steps=1, *, progress=False):
        """Takes this many time steps, 0 or more.

        Ctrl-C ends them within about a tenth of a second; the attribute `steps` then says how many were done, and more can
        be taken. With `progress=True` a line of the terminal, or a bar in a notebook, shows how far the steps are; a
        function is called as `progress(done, steps)`.

        If the step length of a system follows from values, the steps end early at its time `until`. Raises
        `NotFiniteError`, with the step, if values become infinite or not a number; they are checked now and then.

            >>> import numpy as np, stencil
            >>> rod = stencil.Simulation(np.array([0.25, 0.5, 0.25]), np.array([0.0, 0, 16, 0, 0]))
            >>> rod.step(3)
            >>> rod.steps
            3
        """
        if progress:
            steps = self._count("steps", steps, 0)
        told = _shown.told(progress, steps)
        if told is None:
            self._step(steps, None)
            return
        first = self.steps
        self._step(steps, told)
        told(self.steps - first, last=True)

    def observe(self, steps, every, *, last=False, progress=False):
        """A loop that takes `steps` steps, and gives the simulation whenever the number of all steps is a multiple of `every`.

        With `last=True` it also gives the simulation after the last step. `progress` is that of `step`, for all steps of
        the loop. The loop ends early where `step` does.

            >>> import numpy as np, stencil
            >>> rod = stencil.Simulation(np.array([0.25, 0.5, 0.25]), np.array([0.0, 0, 16, 0, 0]))
            >>> [(now.steps, now.field().max().item()) for now in rod.observe(5, every=2, last=True)]
            [(2, 6.0), (4, 4.375), (5, 3.9375)]
        """
        steps, every = self._count("steps", steps, 0), self._count("every", every, 1)
        return self._looks(self.steps, steps, every, last, _shown.told(progress, steps))

    def _looks(self, first, steps, every, last, told):
        end = first + steps
        while (done := self.steps) < end:
            aim = min((done // every + 1) * every, end)
            tell = told and (lambda now, done=done: told(done - first + now))
            self._step(aim - done, tell)
            now = self.steps
            # `until` is a time: where the lengths of steps follow from values nobody knows before how many lead there.
            over = now < aim
            if told is not None and (over or now >= end):
                told(now - first, last=True)
            if now > done and (now % every == 0 or last and (over or now >= end)):
                yield self
            if over:
                return

    @property
    def shape(self):
        """The extents of its fields, the slowest axis first.

            >>> import stencil
            >>> stencil.System("gray-scott", size=(32, 48), engine="cpu").shape
            (32, 48)
        """
        return tuple(self.report()["shape"])

    def __getitem__(self, key):
        name, level = self._place(key)
        return Field(self, name, level)

    def __setitem__(self, key, value):
        name, level = self._place(key)
        if isinstance(value, Field) and value.is_of(self, name, level):
            return
        if not on_gpu(value):
            if callable(value) and not hasattr(value, "__array__"):
                value = self._evaluated(name, level, value)
            value = numbers(f"the field '{name}'", value)
            if value.shape != self.shape:
                try:
                    value = np.broadcast_to(value, self.shape)
                except ValueError:
                    text = f"values of shape {value.shape} are given for the field '{name}', whose shape is {self.shape}"
                    raise InputError(text, "input", {"shape": value.shape}, "give an array of the shape of the field, or a number") from None  # fmt: skip
        self._set(name, level, value)

    def __contains__(self, name):
        return name in self.fields

    def __iter__(self):
        return iter(self.fields)

    def _place(self, key):
        name, level = key if isinstance(key, tuple) and len(key) == 2 else (key, 0)
        if not isinstance(name, str):
            raise TypeError(f"a field has a name, not {name!r}\nhelp: write system[\"u\"], or system[\"u\", 1] for a step before")
        fields = self.fields
        if name not in fields:
            help = f"ask for one of {', '.join(fields)}"
            raise InputError(f"there is no field '{name}'", "input", {"name": name, "known": fields}, help)
        return name, self._count("level", level, 0)

    def _evaluated(self, name, level, function):
        shape, about, dt = self.shape, self._about(), 0.0
        if level:
            dt = self.report()["dt"]
            if dt is None and about["dt"] is not None:
                why = "the length of a step follows from values"
                text = f"the time of the field '{name}' {level} steps before is not known: {why}"
                raise InputError(text, "input", {}, "give an array")
        time = self.time - level * (1.0 if dt is None else dt)
        known = {**_describe.coordinates(shape, about["spacing"] or [1.0] * len(shape)), "t": time}
        return _describe.evaluated(f"the field '{name}'", function, known, shape)

    def __array__(self, dtype=None, copy=None):
        fields = self.fields
        if len(fields) != 1:
            raise TypeError(f"it has {len(fields)} fields\nhelp: name one, as in numpy.asarray(system[\"{fields[0]}\"])")
        return self[fields[0]].__array__(dtype, copy)

    def checkpoint(self, path):
        """Writes all that is needed to go on into a file. The file replaces an older one when it is complete.

        Raises `FileError`, or `NotFiniteError` where a value is not finite.

            >>> import numpy as np, stencil, tempfile, os
            >>> rod = stencil.Simulation(np.array([0.25, 0.5, 0.25]), np.array([0.0, 0, 16, 0, 0]))
            >>> rod.step(2)
            >>> path = os.path.join(tempfile.mkdtemp(), "rod.state")
            >>> rod.checkpoint(path)
            >>> again = stencil.Simulation(np.array([0.25, 0.5, 0.25]), np.zeros(5))
            >>> again.resume(path)
            >>> again.steps, again.field().tolist()
            (2, [1.0, 4.0, 6.0, 4.0, 1.0])
        """
        _path(path)
        self._checkpoint(path)

    def resume(self, path):
        """Goes on from a file of `checkpoint`, or of the option `--checkpoint` of the program `host`.

        Raises `InputError` if the file is damaged, or of another problem: other weights, shape, type or boundary, or another
        system (its parameters and start values included).

            >>> import numpy as np, stencil, tempfile, os
            >>> rod = stencil.Simulation("star1d1r", np.ones(8), engine="cpu")
            >>> path = os.path.join(tempfile.mkdtemp(), "rod.state")
            >>> rod.checkpoint(path)
            >>> rod.step(3)
            >>> rod.resume(path)
            >>> rod.steps
            0
        """
        _path(path)
        self._resume(path)

    def save(self, path, *, fields=None, slice=None, stride=1, colours="viridis", range="auto"):
        """Writes the fields as they are now; returns the names of the files.

        The end of `path` says the format: `.npy`, `.png`, `.vti` and `.pvti` for ParaView, `.nc` (NetCDF). `{field}` stands
        for the name of a field, `{step}` or with zeros `{step:06}` for the steps that are done. `fields` names those that
        are written, `stride=4` writes every fourth point along each axis, `slice="z=4"` one slice of a 3D array.
        For pictures `colours` is the colour map ("magma", "blue-red" and others), `range` the values of the first and the
        last colour ("0:1", "auto").

        Raises `InputError` if this cannot be written, and `FileError`.

            >>> import numpy as np, stencil, tempfile, os
            >>> plate = stencil.Simulation("heat-2d", np.ones((32, 32)), engine="cpu")
            >>> [os.path.basename(name) for name in plate.save(os.path.join(tempfile.mkdtemp(), "u_{step:03}.vti"))]
            ['u_000.vti']
        """
        _path(path)
        names = [fields] if isinstance(fields, str) else fields
        if names is not None:
            names = list(names) if isinstance(names, Iterable) else names
            if not isinstance(names, list) or not all(isinstance(each, str) for each in names):
                raise TypeError(f"fields must be a name or a list of names, not {names!r}\nhelp: write fields=[\"u\"]")
        if not isinstance(slice, str) and slice is not None:
            raise TypeError(f"slice must be a text, not {type(slice).__name__}\n"
                            "help: write slice=\"z=4\": an axis and a place on it")  # fmt: skip
        return [str(name) for name in self._save(path, names, slice, stride, (colours, str(range)))]

    def picture(self, field=None, *, slice=None, stride=1, colours="viridis", range="auto"):
        """A picture of a field as the bytes of a PNG; the arguments are those of `save`.

            >>> import numpy as np, stencil
            >>> plate = stencil.Simulation("heat-2d", np.ones((32, 32)), engine="cpu")
            >>> plate.picture(colours="magma")[1:4]
            b'PNG'
        """
        options = {"slice": slice, "stride": stride, "colours": colours, "range": range}
        return _shown.picture(self, self.fields[0] if field is None else field, **options)

    def copy(self):
        """A copy of this computation that goes on independently, from the same values and the same step.

        Values go by way of this machine's memory. `copy.copy`, `copy.deepcopy` and `pickle` do the same; the engine of a copy is
        chosen anew where "auto" was asked for.

            >>> import numpy as np, stencil
            >>> rod = stencil.Simulation("star1d1r", np.ones(8), engine="cpu")
            >>> other = rod.copy()
            >>> rod.step(3)
            >>> rod.steps, other.steps
            (3, 0)
        """
        rebuild, arguments = self.__reduce__()
        return rebuild(*arguments)

    def __copy__(self):
        return self.copy()

    def __deepcopy__(self, memo):
        return self.copy()

    def to_xarray(self):
        """The fields as an `xarray.Dataset`, with coordinates from the spacing (of a `Simulation` 1), `step` and `time`.

        What receivers recorded is `records`, over `record_time` and `receiver`; rows of totals (`totals_every`) are
        `total_NAME` over `total_time`. If a field has the name of an axis, it gets a `_` after its name: `x_`. Raises
        `ImportError` if the package `xarray` is missing.

            >>> import stencil
            >>> spots = stencil.System("gray-scott", size=(32, 48), spacing=0.5, engine="cpu")
            >>> found = spots.to_xarray()
            >>> found["u"].dims, found["x"].values[:3].tolist()
            (('y', 'x'), [0.0, 0.5, 1.0])
        """
        import xarray

        shape, about = self.shape, self._about()
        axes = ("z", "y", "x")[3 - len(shape) :]
        spacing = about["spacing"] or [1.0] * len(shape)
        coordinates = {name: np.arange(extent) * own for name, extent, own in zip(axes, shape, spacing, strict=True)}
        taken = _shown.Names(axes)
        variables = {taken.free(name): (axes, self.field(name)) for name in self.fields}
        if about["receivers"]:
            rows, time, place = self.records(), taken.free("record_time"), taken.free("receiver")
            variables[taken.free("records")] = ((time, place), rows[:, 1:])
            coordinates[time] = rows[:, 0]
            coordinates[place] = [f"{name}[{' '.join(f'{each:g}' for each in at)}]" for name, at in about["receivers"]]
        series = self._series()
        if len(series):
            time = taken.free("total_time")
            coordinates[time] = series[:, 1]
            coordinates[taken.free("total_step")] = (time, series[:, 0].astype(np.int64))
            for number, name in enumerate(about["totals"]):
                variables[taken.free(f"total_{name}")] = (time, series[:, 2 + number])
        facts = {"step": self.steps, "time": self.time, "title": about["title"]}
        return xarray.Dataset(variables, coordinates, {name: each for name, each in facts.items() if each != ""})

    def __str__(self):
        return f"asked      {self!r}\n{self._report_text()}"

    def _repr_html_(self):
        return _shown.page(self)

    def _repr_png_(self):
        return _shown.small_picture(self, self.fields[0], self.shape)


class Simulation(_Computation, _stencil.Simulation):
    """A stencil on an array, as many steps at a time as you like.

    The array is copied to where it is computed, and may change or go afterwards. The arguments are those of `run` and of
    `help(stencil)`; `portions` is about how many steps you will take at a time; which engine is fastest depends on it.

    `step(steps=1)` takes steps; `observe(steps, every)` is a loop that takes them, and looks every so many. `field()` is
    the array as it is now, of numpy; `field(device="cuda")` is a `DeviceArray`, a copy in the memory of the GPU for torch,
    CuPy and others. `simulation["u"] = array` gives it other values, also of an array of the GPU; `simulation["u"][2:4] = 1`
    changes a part. `steps` counts what is done, `fields` has the names, `report()` and `print` say what was asked, what
    computes, and how fast. `copy()`, `pickle`, `checkpoint(path)` and `resume(path)` keep all of it, `save(path)` writes
    files, `numpy.asarray` and `to_xarray()` give arrays; a notebook shows a picture. Any thread may use it, but only the
    process that made it.

    Raises what `run` raises, here or in `step`; after a `NotFiniteError` of `step` the values are of no use until others are
    set.

        >>> import numpy as np, stencil
        >>> rod = stencil.Simulation(np.array([0.25, 0.5, 0.25]), np.array([0.0, 0, 16, 0, 0]))
        >>> for now in rod.observe(steps=4, every=2):
        ...     print(now.steps, now.field().max())
        2 6.0
        4 4.375
        >>> other = rod.copy()
        >>> other["u"] = 0
        >>> rod.step(), rod.field().max().item(), other.field().max().item()
        (None, 3.9375, 0.0)
    """

    __slots__ = ("_asked",)

    def __new__(
        cls,
        weights,
        u,
        *,
        boundary="zero",
        dtype=None,
        engine="auto",
        kernel=None,
        fuse=None,
        chain=None,
        jump=None,
        portions=None,
    ):
        boundary = dict(boundary) if isinstance(boundary, dict) else boundary
        options = _options(boundary, dtype, engine, kernel, fuse, chain, jump)
        if not isinstance(weights, str):
            # Of its own: what was given may change.
            weights = np.array(on_host("the weights", weights))
        own = super().__new__(cls, weights, u, portions, options)
        own._asked = (weights, portions, options)
        return own

    def __repr__(self):
        weights, portions, options = self._asked
        name = repr(weights) if isinstance(weights, str) else f"<{'x'.join(map(str, weights.shape))} weights>"
        report = self.report()
        shape = "x".join(map(str, report["shape"]))
        given = {**options, "portions": portions}
        plain = {"boundary": "zero", "engine": "auto"}
        said = [f"{name}={each!r}" for name, each in given.items() if each is not None and plain.get(name) != each]
        return f"Simulation({', '.join([name, f'<{shape} values>', *said])})"

    def __reduce__(self):
        weights, portions, options = self._asked
        u, dtype = self.field(), self.report()["dtype"]
        if dtype == "bf16":
            # Whoever reads this may lack the package that has the type.
            u = u.astype(np.float32)
        return _simulation, (type(self), weights, portions, options, u, self.steps, dtype)


def _simulation(cls, weights, portions, options, u, steps, dtype):
    """A simulation as another one stands."""
    own = _stencil.Simulation.__new__(cls, weights, u, portions, {**options, "dtype": dtype}, steps)
    own._asked = (weights, portions, options)
    return own


class System(_Computation, _stencil.System):
    """A system of fields: equations with stencils, media that vary, sources, terms that are not linear.

    `source` is the name of an example (`examples()`), a path that ends in `.toml`, the text of such a file, or a dict of the
    same shape: `{"grid": {"size": [64, 64]}, "time": {"dt": 0.1}, "fields": {"u": {"start": array, "next": "u - dt*u"}}}`.
    It also says the grid, its spacing, the time step and their units (`docs/reference/system-files.md`). In such a dict, and in these
    arguments, which take the place of what the source says, values are numbers, expressions, arrays of the grid's shape
    (numpy, or whatever gives itself by DLPack; of a GPU copied to the host once), or functions of coordinates:
    `lambda x, y: numpy.sin(x)*y` is called once, with arrays that broadcast to the shape; an argument `t` is the time. Functions
    that cannot be called by name, as `numpy.arctan2`, are given all coordinates, the slowest axis first.

    parameters
        a dict of constants: numbers, or expressions of constants.
    fields
        a dict from names to what they start with, or to dicts with `start`, `before` (a list: one step before the start,
        two), `boundary`, and `keep`, the points that keep their values: a condition, or an array that is not 0 there.
    coefficients
        a dict from names to values, or to dicts with `start` and `boundary`.
    sources
        what each source adds in each step, in the place of its `add`: an array with a row for each source, in their order, and a
        column for each step. After the last column sources add its numbers.
    solid
        the points that are obstacles: a condition, or an array that is not 0 there.
    size, spacing, dtype, dt
        extents, slowest axis first (by default those of the arrays, or of the source); distance of points; how values are
        stored (by default as the source says; of a dict that says nothing as the arrays of fields are); time of a step.
    totals_every
        keep a row of the totals every so many steps: `series()`.
    engine
        that of `run`.

    `step(steps=1)`, `observe(steps, every)`, `steps`, `fields`, `field(name)`, `copy()`, `pickle`, `checkpoint`, `resume`,
    `save`, `to_xarray()` and `report()` are those of `Simulation`. `system["u"] = array` and `system["u"][2:4] = 1` change a
    field, `system["u", 1]` is it one step before, where equations of waves read that (of a function there `t` is earlier by the
    length of a step as it is now; where that follows from values give an array). `parameters["D"] = 3` changes a
    constant from the next step on. `time` is that of the steps that are done. `records()` is what receivers recorded: a row
    for the start and for each step, the time and then the value at each receiver; `totals()` are the totals now.

    Raises `InputError` for a mistake in the description, with its line and column in `facts`, `FileError` for a file that
    cannot be read, and what `run` raises.

        >>> import numpy as np, stencil
        >>> spots = stencil.System("gray-scott", size=(48, 64), parameters={"feed": 0.03}, engine="cpu")
        >>> spots.step(10)
        >>> spots.fields, spots.field("u").shape
        (['u', 'v'], (48, 64))
        >>> cooling = stencil.System({
        ...     "time": {"dt": 0.5},
        ...     "constants": {"rate": 0.5},
        ...     "fields": {"u": {"start": np.array([4.0, 8.0]), "next": "u - dt*rate*u"}},
        ... })
        >>> cooling.step()
        >>> cooling.parameters["rate"] = 1
        >>> cooling.step()
        >>> cooling.field("u").tolist(), cooling.time
        ([1.5, 3.0], 1.0)
    """

    __slots__ = ("_asked",)

    def __new__(
        cls,
        source,
        *,
        parameters=None,
        fields=None,
        coefficients=None,
        sources=None,
        solid=None,
        size=None,
        spacing=None,
        dtype=None,
        dt=None,
        totals_every=None,
        engine="auto",
    ):
        recipe = _describe.recipe(
            source,
            parameters=parameters,
            fields=fields,
            coefficients=coefficients,
            sources=sources,
            solid=solid,
            size=size,
            spacing=spacing,
            dtype=dtype,
            dt=dt,
        )
        own = super().__new__(cls, recipe, engine, totals_every)
        said = {
            "fields": fields,
            "coefficients": coefficients,
            "sources": sources,
            "solid": solid,
            "size": size,
            "spacing": spacing,
            "dtype": None if dtype is None else _stencil.dtype_name(dtype),
            "dt": dt,
            "totals_every": totals_every,
            "engine": None if engine == "auto" else engine,
        }
        own._asked = {
            "source": _shown.source(source),
            "said": [f"{name}={_shown.brief(each)}" for name, each in said.items() if each is not None],
            "parameters": frozenset(parameters or ()),
            "totals_every": totals_every,
            "engine": engine,
        }
        return own

    def _changed(self, names):
        # Of its own: copies share what was asked.
        self._asked = {**self._asked, "parameters": self._asked["parameters"].union(names)}

    @property
    def parameters(self):
        """Its constants, a mapping from names to values; assigning changes the system from the next step on.

        Fields, and what they were in earlier steps, stay; whatever is made of a constant is computed anew: other constants,
        coefficients, the spacing, the time step. `time` goes on from where it is. Raises `InputError` for a name that no constant
        has, and for a value with which the system makes no sense: it is then as it was. `system.parameters = {…}` and
        `update` change several at once, all of them or none.

            >>> import stencil
            >>> spots = stencil.System("gray-scott", size=(32, 48), engine="cpu")
            >>> spots.parameters["feed"] = "kill/2"
            >>> spots.parameters["feed"]
            0.0325
        """
        return Parameters(self)

    @parameters.setter
    def parameters(self, values):
        if not isinstance(values, Mapping):
            raise TypeError(f"parameters must be a dict from names to values, not {type(values).__name__}\n"
                            "help: write system.parameters = {\"name\": value}, or system.parameters[\"name\"] = value")  # fmt: skip
        self.parameters.update(values)

    def gradient(
        self,
        steps,
        misfit,
        *,
        coefficients=(),
        parameters=(),
        totals=False,
        memory=None,
        keep_in=None,
        keep_as=None,
        shots=None,
    ):
        """Takes `steps` steps, and says how a number changes with what they began with.

        After the steps `misfit(fields, records)` is called with a dict of the arrays that they left, by the names of fields and
        by `(name, level)` of earlier steps, and with what `records()` gives. It returns the derivatives of the number by these:
        a dict with the same keys, of arrays; those that are left out are 0. Or such a dict and an array of the derivatives by
        the records: a row for each step, or one more for the start, and a column for each receiver.

        With `totals=True` the number changes with totals, too: `misfit(fields, records, totals)` has a dict of what they are after the
        steps, and returns three things, of which the third is a dict of the derivatives by totals: of each by what it is after the
        steps, or an array of those by what it is after each one, with or without the start.

        What is returned has the derivatives by the values before the steps (`start`, with the same keys), by `coefficients` and
        `parameters` of these names (dicts), and by what each source adds in each step (`sources`, a row for each place).
        Earlier values that follow from the start, as of a wave from rest, add theirs to it. The system is then after its steps.

        `memory` is how many bytes kept states may take, by default as many as it takes to take each step again once, but 256 MiB,
        and a quarter of what is free at most; with fewer states steps are taken again (`steps_again`). They are kept where they lie, in the memory of the GPU or of this machine: `keep_in="gpu"` and
        `keep_in="memory"` say which, and `keep_in` with the path of a folder keeps them in files, which are removed. With
        `keep_as="f16"`, `"bf16"` or `"f32"` values that the way back reads are rounded to that type, of fewer bytes.
        What is taken for constant though it changes with values is in `constants`.

        With `shots`, an array (shots, sources, steps) for a system that was made with `sources`, the steps are taken once for each
        shot, each time from the values as they are now and with these numbers for what sources add; `misfit(fields, records, shot)`
        has the number of the shot, too, as its last argument. What is returned is the sum over the shots, but `sources` has a place for each shot. The system
        is then after the steps of the last one. On the cores shots of a small grid are computed at the same time, so that `misfit` is
        called once at a time, but of shots in any order.

        Raises `InputError` for what has no derivative (`docs/how-to/gradients.md`), and what `misfit` raises.

            >>> import numpy as np, stencil
            >>> cooling = stencil.System({
            ...     "grid": {"dtype": "f64"}, "constants": {"rate": 0.5},
            ...     "fields": {"u": {"start": np.array([4.0, 8.0]), "next": "u - rate*u"}},
            ... })
            >>> found = cooling.gradient(2, lambda fields, records: {"u": fields["u"]}, parameters=["rate"])
            >>> found.start["u"].tolist(), found.parameters
            ([0.25, 0.5], {'rate': -20.0})
        """
        return _gradient.gradient(
            self, steps, misfit, coefficients, parameters, totals, memory, keep_in, keep_as, shots=shots
        )

    def shots(self, steps, sources):
        """A loop over shots: takes `steps` steps for each, from the values as they are now, and gives its number.

        `sources` is an array (shots, sources, steps) of what sources add in the steps; the system has to be made with `sources`.
        All shots are computed by what the system has prepared. It is then after the steps of the last one.

            >>> import numpy as np, stencil
            >>> line = stencil.System({
            ...     "grid": {"size": [4]}, "fields": {"u": {"start": 0, "next": "u/2"}},
            ...     "sources": [{"field": "u", "at": [1]}, {"field": "u", "at": [2]}],
            ... }, sources=np.zeros((2, 3)), engine="cpu")
            >>> [line.field("u").tolist() for shot in line.shots(3, np.array([[[4, 0, 0], [0, 0, 0]], [[0, 0, 0], [0, 0, 8]]]))]
            [[0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 8.0, 0.0]]
        """
        steps = self._count("steps", steps, 0)
        return self._shots(steps, _gradient.checked(sources, steps), self._keep())

    def _shots(self, steps, sources, begin):
        for number, rows in enumerate(sources):
            self._begin_shot(begin, rows)
            self._step(steps, None)
            yield number

    def series(self):
        """The rows of totals, every `totals_every` steps: an array with fields `step`, `time` and one for each total. A total
        that is called `step` or `time` gets a `_` after its name.

            >>> import stencil
            >>> falling = stencil.System({
            ...     "grid": {"size": [4]}, "fields": {"u": {"start": 1, "next": "u/2"}}, "totals": {"mass": "sum(u)"},
            ... }, totals_every=2)
            >>> falling.step(4)
            >>> falling.series()["mass"].tolist()
            [4.0, 1.0, 0.25]
        """
        taken = _shown.Names(["step", "time"])
        rows, names = self._series(), ["step", "time", *map(taken.free, self._about()["totals"])]
        types = [(name, np.int64 if number == 0 else np.float64) for number, name in enumerate(names)]
        found = np.zeros(len(rows), types)
        for number, name in enumerate(names):
            if len(rows):
                found[name] = rows[:, number]
        return found

    def __repr__(self):
        asked = self._asked
        given = {name: value for name, value in self.parameters.items() if name in asked["parameters"]}
        parameters = [f"parameters={given!r}"] if given else []
        return f"System({', '.join([asked['source'], *parameters, *asked['said']])})"

    def copy(self):
        # Without arrays of numpy between them, and with the given arrays of this one.
        return _system(type(self), self, self._asked, None)

    copy.__doc__ = _Computation.copy.__doc__

    def __reduce__(self):
        return _system, (type(self), self._recipe(), self._asked, self._state())


def _system(cls, recipe, asked, state):
    """A system as another one stands."""
    own = _stencil.System.__new__(cls, recipe, asked["engine"], asked["totals_every"], state)
    own._asked = asked
    return own
