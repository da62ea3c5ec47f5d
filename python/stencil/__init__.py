# SPDX-License-Identifier: MIT OR Apache-2.0
"""Stencils and systems of equations, computed on GPUs and CPUs.

    >>> import numpy as np, stencil
    >>> u = np.zeros((480, 640), np.float32)
    >>> u[240, 320] = 1000
    >>> stencil.run("heat-2d", u, 100).shape
    (480, 640)

Time steps of a stencil: every point becomes a weighted sum of its neighbours. The weights are an array, the centre in
the middle, or the name of a stencil (`catalogue()`). The axes are z, y, x, the slowest first, as numpy has them.

Arguments that `run`, `Simulation` and `plan` share:

weights
    a name such as "star2d3r" or "heat-2d", or an array of 1 to 3 axes with odd extents.
u
    whatever numpy takes for an array; or an array in the memory of the GPU that gives itself by DLPack, as those of
    torch and CuPy do, which is copied there and does not go through the host.
boundary
    what lies around the array: "zero", "periodic", "reflect", "symmetric", "edge", "constant=3.5", "flux=0.5" (the
    last point and 0.5 more with each point outwards), or per axis or side, as in "x:periodic,y-:constant=1,y+:reflect", or a dict of
    these: {"x": "periodic", "y-": "constant=1", "y+": "reflect"}. x is the last axis, - its start. Sides that are
    not named are zero.
dtype
    the type in which values are stored between steps: "f16", "bf16", "tf32", "f32", "f64", or a type of numpy; by
    default that of the array.
engine
    "auto" (the fastest that can compute this here), "cpu", "sparse", "dense", "cuda", "fft" or "emulate".
kernel, fuse, chain, jump
    as the options of the program `host`: the family of kernels; how many steps are computed as one sum; how many such
    sums stay in fast memory; how many steps a Fourier transform takes. By default what is predicted to be fastest.

Errors are subclasses of `stencil.Error` with `kind`, `facts` and `help`; an argument of a wrong type raises `TypeError`.
While steps are taken other threads of Python run, and Ctrl-C ends the steps.
"""

from . import _stencil, ndimage
from ._computations import Simulation, System, _options
from ._fields import Field, Parameters
from ._gradient import Gradient
from ._stencil import DeviceArray, __version__, catalogue, examples, weights
from .errors import (
    DeviceError,
    Error,
    FileError,
    InputError,
    NotFiniteError,
    OutOfMemoryError,
    StoppedError,
    WrongError,
)

__all__ = [
    "DeviceArray",
    "DeviceError",
    "Error",
    "Field",
    "FileError",
    "Gradient",
    "InputError",
    "NotFiniteError",
    "OutOfMemoryError",
    "Parameters",
    "Simulation",
    "StoppedError",
    "System",
    "WrongError",
    "__version__",
    "catalogue",
    "examples",
    "ndimage",
    "plan",
    "run",
    "weights",
]


for _each in (Field, Gradient, Parameters, Simulation, System):
    _each.__module__ = __name__


def run(
    weights,
    u,
    steps,
    *,
    boundary="zero",
    dtype=None,
    engine="auto",
    kernel=None,
    fuse=None,
    chain=None,
    jump=None,
    verify="off",
):
    """Takes `steps` time steps from the array `u`, and returns the array after them.

    `weights` has as many axes as `u`, 1 to 3, and odd extents. A step computes
    `out[y, x] = sum of weights[j, i] * u[y + j - r, x + i - r]`, where `r` is the radius. There are no units: the
    weights have the spacing and the time step in them. `u` is not changed, and no other thread may write to it meanwhile. The result has
    the shape of `u` and the type `dtype`, by default that of `u` (for whole numbers float32 or float64). `steps` may be 0.

    For an array of numpy the result is an array of numpy. For one in the memory of the GPU it is a `DeviceArray`, which
    `torch.from_dlpack` and `cupy.from_dlpack` take over without a copy.

    With `verify="full"` or `"sample"` the result is compared with the plain stencil in f64, and a difference that
    rounding does not explain raises `WrongError`; with `"off"`, the default, nothing is compared. The other arguments are those of
    `help(stencil)`.

    Raises `InputError` (a `ValueError`) for shapes, names and numbers that make no sense, `NotFiniteError` with the
    step for values that are or become infinite or not a number, `OutOfMemoryError`, and `DeviceError` where an engine
    of the GPU is asked for and there is none.

        >>> import numpy as np, stencil
        >>> stencil.run(np.array([0.25, 0.5, 0.25]), np.array([0.0, 0, 16, 0, 0]), 2).tolist()
        [1.0, 4.0, 6.0, 4.0, 1.0]
        >>> blur = np.full((3, 3), 1 / 9, np.float32)
        >>> stencil.run(blur, np.ones((480, 640), np.float32), 5, boundary="edge").shape
        (480, 640)
    """
    options = _options(boundary, dtype, engine, kernel, fuse, chain, jump)
    return _stencil.run(weights, u, steps, verify, options)


def plan(
    weights,
    shape,
    steps=1000,
    *,
    machine="this",
    boundary="zero",
    dtype="f16",
    engine="auto",
    kernel=None,
    fuse=None,
    chain=None,
    jump=None,
):
    """Ranks all ways to compute a job, the fastest first, and says why the others cannot compute it.

    `shape` has the extents of the array, slowest axis first; an int is that of a single axis. `machine` is "this",
    "h200", "h100" or "a100". The other arguments are those of `run` and of `help(stencil)`. Nothing is computed.

    The result is a dict: `ranked`, a list of dicts with `engine`, `kernel`, `fuse`, `chain`, `seconds_per_step` and
    `gstencils_per_s` (10**9 points a second); `rejected`, with `refusal`; `machine` and `figures`.

    Raises `InputError` for arguments that make no sense.

        >>> import stencil
        >>> stencil.plan("star2d3r", (10240, 10240), machine="h200")["ranked"][0]["engine"]
        'sparse'
    """
    options = _options(boundary, dtype, engine, kernel, fuse, chain, jump)
    return _stencil.plan(weights, shape, steps, machine, options)


def __getattr__(name):
    # torch is large, and need not be there: it is imported by whoever asks.
    if name == "torch":
        import importlib

        return importlib.import_module(".torch", __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
