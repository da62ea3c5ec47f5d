# SPDX-License-Identifier: MIT OR Apache-2.0
from collections.abc import Iterator, Sequence
from os import PathLike
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

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
    "DeviceError",
    "Error",
    "FileError",
    "InputError",
    "NotFiniteError",
    "OutOfMemoryError",
    "Simulation",
    "StoppedError",
    "System",
    "WrongError",
    "__version__",
    "catalogue",
    "examples",
    "plan",
    "run",
    "weights",
]

__version__: str

_Engine = Literal["auto", "sparse", "dense", "cuda", "cpu", "fft", "emulate"]

def run(
    weights: str | ArrayLike,
    u: ArrayLike,
    steps: int,
    *,
    boundary: str = "zero",
    dtype: str | DTypeLike | None = None,
    engine: _Engine = "auto",
    kernel: str | None = None,
    fuse: int | None = None,
    chain: int | None = None,
    jump: int | None = None,
    verify: Literal["off", "sample", "full"] = "off",
) -> NDArray[Any]: ...

class Simulation:
    def __new__(
        cls,
        weights: str | ArrayLike,
        u: ArrayLike,
        *,
        boundary: str = "zero",
        dtype: str | DTypeLike | None = None,
        engine: _Engine = "auto",
        kernel: str | None = None,
        fuse: int | None = None,
        chain: int | None = None,
        jump: int | None = None,
        portions: int | None = None,
    ) -> Simulation: ...
    def step(self, steps: int = 1) -> None: ...
    def observe(self, steps: int, every: int) -> Iterator[Simulation]: ...
    @property
    def steps(self) -> int: ...
    @property
    def fields(self) -> list[str]: ...
    def field(self, name: str = "u") -> NDArray[Any]: ...
    def report(self) -> dict[str, Any]: ...

class System:
    def __new__(
        cls, source: str | PathLike[str], *, engine: Literal["auto", "cuda", "cpu"] = "auto"
    ) -> System: ...
    def step(self, steps: int = 1) -> None: ...
    def observe(self, steps: int, every: int) -> Iterator[System]: ...
    @property
    def steps(self) -> int: ...
    @property
    def fields(self) -> list[str]: ...
    def field(self, name: str) -> NDArray[Any]: ...
    def records(self) -> NDArray[np.float64]: ...
    def report(self) -> dict[str, Any]: ...

def plan(
    weights: str | ArrayLike,
    shape: Sequence[int],
    steps: int = 1000,
    *,
    machine: Literal["this", "h200", "a100"] = "this",
    boundary: str = "zero",
    dtype: str | DTypeLike = "f16",
    engine: _Engine = "auto",
    kernel: str | None = None,
    fuse: int | None = None,
    chain: int | None = None,
    jump: int | None = None,
) -> dict[str, Any]: ...
def catalogue() -> dict[str, str]: ...
def examples() -> dict[str, str]: ...
def weights(name: str | ArrayLike) -> NDArray[np.float64]: ...
