# SPDX-License-Identifier: MIT OR Apache-2.0
from collections.abc import Callable, Iterator, Mapping, MutableMapping, Sequence
from os import PathLike
from typing import Any, Literal, NamedTuple, Protocol, overload

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray
from typing_extensions import Self

from . import ndimage as ndimage
from .errors import (
    DeviceError as DeviceError,
    Error as Error,
    FileError as FileError,
    InputError as InputError,
    NotFiniteError as NotFiniteError,
    OutOfMemoryError as OutOfMemoryError,
    StoppedError as StoppedError,
    WrongError as WrongError,
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

__version__: str

_Engine = Literal["auto", "sparse", "dense", "cuda", "cpu", "fft", "emulate"]
_Dtype = Literal["f16", "bf16", "tf32", "f32", "f64"]
_Verify = Literal["full", "sample", "off"]
_Machine = Literal["this", "h200", "h100", "a100"]
_Device = Literal["cpu", "cuda"]
# Besides "constant=V", "flux=G", "robin=A,B,C" and texts such as "x:periodic,y-:edge".
_Kind = Literal["zero", "periodic", "reflect", "symmetric", "edge", "odd", "odd-reflect"]
_Boundary = _Kind | str | dict[str, str]
# True shows how far steps have come; a function is told how many of how many are done.
_Progress = bool | Callable[[int, int], object]
# What fields, coefficients and masks are made of: a number, an expression, an array, or a function of coordinates.
_Values = ArrayLike | "_OnDevice" | Callable[..., ArrayLike]
_Number = float | str

class _OnDevice(Protocol):
    """An array of a GPU, of torch, CuPy or others, that gives itself by DLPack."""

    def __dlpack__(self, *, stream: Any = ...) -> Any: ...
    def __dlpack_device__(self) -> tuple[Any, int]: ...

def run(
    weights: str | ArrayLike,
    u: ArrayLike | _OnDevice,
    steps: int,
    *,
    boundary: _Boundary = "zero",
    dtype: _Dtype | DTypeLike | None = None,
    engine: _Engine = "auto",
    kernel: str | None = None,
    fuse: int | None = None,
    chain: int | None = None,
    jump: int | None = None,
    verify: _Verify = "off",
) -> Any: ...

class DeviceArray:
    """A copy of a field in the memory of a GPU, in C order, for torch, CuPy and others."""

    @property
    def shape(self) -> tuple[int, ...]: ...
    @property
    def dtype(self) -> str: ...
    def numpy(self) -> NDArray[Any]: ...
    def __dlpack__(
        self,
        *,
        stream: Any = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> Any: ...
    def __dlpack_device__(self) -> tuple[int, int]: ...
    @property
    def __cuda_array_interface__(self) -> dict[str, Any]: ...

class Field(np.lib.mixins.NDArrayOperatorsMixin):
    """A field of a computation as it is now, without values of its own."""

    @property
    def name(self) -> str: ...
    @property
    def shape(self) -> tuple[int, ...]: ...
    @property
    def ndim(self) -> int: ...
    @property
    def size(self) -> int: ...
    @property
    def dtype(self) -> np.dtype[Any]: ...
    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> NDArray[Any]: ...
    def __len__(self) -> int: ...
    def __getitem__(self, key: Any) -> Any: ...
    def __setitem__(self, key: Any, value: ArrayLike | _OnDevice | Field) -> None: ...
    def __iter__(self) -> Iterator[Any]: ...
    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, out: Any = None, **options: Any) -> Any: ...
    # Of the values as they are now: what arrays have that cannot be written.
    @property
    def T(self) -> NDArray[Any]: ...
    @property
    def real(self) -> NDArray[Any]: ...
    @property
    def flat(self) -> Any: ...
    @property
    def itemsize(self) -> int: ...
    @property
    def nbytes(self) -> int: ...
    @property
    def strides(self) -> tuple[int, ...]: ...
    @property
    def all(self) -> Callable[..., Any]: ...
    @property
    def any(self) -> Callable[..., Any]: ...
    @property
    def argmax(self) -> Callable[..., Any]: ...
    @property
    def argmin(self) -> Callable[..., Any]: ...
    @property
    def argsort(self) -> Callable[..., Any]: ...
    @property
    def clip(self) -> Callable[..., Any]: ...
    @property
    def cumsum(self) -> Callable[..., Any]: ...
    @property
    def dot(self) -> Callable[..., Any]: ...
    @property
    def item(self) -> Callable[..., Any]: ...
    @property
    def max(self) -> Callable[..., Any]: ...
    @property
    def mean(self) -> Callable[..., Any]: ...
    @property
    def min(self) -> Callable[..., Any]: ...
    @property
    def nonzero(self) -> Callable[..., Any]: ...
    @property
    def prod(self) -> Callable[..., Any]: ...
    @property
    def round(self) -> Callable[..., Any]: ...
    @property
    def std(self) -> Callable[..., Any]: ...
    @property
    def sum(self) -> Callable[..., Any]: ...
    @property
    def take(self) -> Callable[..., Any]: ...
    @property
    def tobytes(self) -> Callable[..., Any]: ...
    @property
    def tolist(self) -> Callable[..., Any]: ...
    @property
    def var(self) -> Callable[..., Any]: ...
    @property
    def astype(self) -> Callable[..., NDArray[Any]]: ...
    @property
    def copy(self) -> Callable[..., NDArray[Any]]: ...
    @property
    def flatten(self) -> Callable[..., NDArray[Any]]: ...
    @property
    def ravel(self) -> Callable[..., NDArray[Any]]: ...
    @property
    def repeat(self) -> Callable[..., NDArray[Any]]: ...
    @property
    def reshape(self) -> Callable[..., NDArray[Any]]: ...
    @property
    def squeeze(self) -> Callable[..., NDArray[Any]]: ...
    @property
    def swapaxes(self) -> Callable[..., NDArray[Any]]: ...
    @property
    def transpose(self) -> Callable[..., NDArray[Any]]: ...
    @property
    def view(self) -> Callable[..., NDArray[Any]]: ...

class Parameters(MutableMapping[str, float]):
    """The constants of a system, by name."""

    def __getitem__(self, name: str) -> float: ...
    def __setitem__(self, name: str, value: _Number) -> None: ...
    def __delitem__(self, name: str) -> None: ...
    def __iter__(self) -> Iterator[str]: ...
    def __len__(self) -> int: ...

class _Computation:
    def step(self, steps: int = 1, *, progress: _Progress = False) -> None: ...
    def observe(
        self, steps: int, every: int, *, last: bool = False, progress: _Progress = False
    ) -> Iterator[Self]: ...
    @property
    def steps(self) -> int: ...
    @property
    def time(self) -> float: ...
    @property
    def shape(self) -> tuple[int, ...]: ...
    def __getitem__(self, key: str | tuple[str, int]) -> Field: ...
    def __setitem__(self, key: str | tuple[str, int], value: _Values | Field) -> None: ...
    def __contains__(self, name: object) -> bool: ...
    def __iter__(self) -> Iterator[str]: ...
    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> NDArray[Any]: ...
    def checkpoint(self, path: str | PathLike[str]) -> None: ...
    def resume(self, path: str | PathLike[str]) -> None: ...
    def save(
        self,
        path: str | PathLike[str],
        *,
        fields: str | Sequence[str] | None = None,
        slice: str | None = None,
        stride: int = 1,
        colours: str = "viridis",
        range: str = "auto",
    ) -> list[str]: ...
    def picture(
        self,
        field: str | None = None,
        *,
        slice: str | None = None,
        stride: int = 1,
        colours: str = "viridis",
        range: str = "auto",
    ) -> bytes: ...
    def copy(self) -> Self: ...
    # A Dataset; `xarray` need not be there.
    def to_xarray(self) -> Any: ...
    @property
    def fields(self) -> list[str]: ...
    @overload
    def field(self, name: str | None = None, device: Literal["cpu"] = "cpu") -> NDArray[Any]: ...
    @overload
    def field(self, name: str | None = None, *, device: Literal["cuda"]) -> DeviceArray: ...
    @overload
    def field(self, name: str | None, device: Literal["cuda"]) -> DeviceArray: ...
    def records(self) -> NDArray[np.float64]: ...
    def totals(self) -> dict[str, float]: ...
    def report(self) -> dict[str, Any]: ...

class Simulation(_Computation):
    def __new__(
        cls,
        weights: str | ArrayLike,
        u: ArrayLike | _OnDevice,
        *,
        boundary: _Boundary = "zero",
        dtype: _Dtype | DTypeLike | None = None,
        engine: _Engine = "auto",
        kernel: str | None = None,
        fuse: int | None = None,
        chain: int | None = None,
        jump: int | None = None,
        portions: int | None = None,
    ) -> Simulation: ...

class System(_Computation):
    def __new__(
        cls,
        source: str | PathLike[str] | Mapping[str, Any],
        *,
        parameters: Mapping[str, _Number] | None = None,
        fields: Mapping[str, _Values | Mapping[str, Any]] | None = None,
        coefficients: Mapping[str, _Values | Mapping[str, Any]] | None = None,
        sources: ArrayLike | None = None,
        solid: _Values | None = None,
        size: int | Sequence[int] | None = None,
        spacing: _Number | Sequence[_Number] | None = None,
        dtype: _Dtype | DTypeLike | None = None,
        dt: _Number | None = None,
        totals_every: int | None = None,
        engine: _Engine = "auto",
    ) -> System: ...
    @property
    def parameters(self) -> Parameters: ...
    @parameters.setter
    def parameters(self, values: Mapping[str, _Number]) -> None: ...
    def gradient(
        self,
        steps: int,
        misfit: Callable[..., Any],
        *,
        coefficients: Sequence[str] = (),
        parameters: Sequence[str] = (),
        totals: bool = False,
        memory: int | None = None,
        keep_in: Literal["gpu", "memory"] | PathLike[str] | str | None = None,
        keep_as: Literal["f32", "f16", "bf16"] | None = None,
        shots: ArrayLike | None = None,
    ) -> Gradient: ...
    def shots(self, steps: int, sources: ArrayLike) -> Iterator[int]: ...
    def series(self) -> NDArray[Any]: ...

class Gradient(NamedTuple):
    start: dict[Any, NDArray[Any]]
    coefficients: dict[str, NDArray[Any]]
    parameters: dict[str, float]
    sources: NDArray[np.float64]
    steps_again: int
    constants: list[str]

def plan(
    weights: str | ArrayLike,
    shape: int | Sequence[int],
    steps: int = 1000,
    *,
    machine: _Machine = "this",
    boundary: _Boundary = "zero",
    dtype: _Dtype | DTypeLike = "f16",
    engine: _Engine = "auto",
    kernel: str | None = None,
    fuse: int | None = None,
    chain: int | None = None,
    jump: int | None = None,
) -> dict[str, Any]: ...
def catalogue() -> dict[str, str]: ...
def examples() -> dict[str, str]: ...
def weights(name: str | ArrayLike) -> NDArray[np.float64]: ...
