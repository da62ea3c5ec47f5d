# SPDX-License-Identifier: MIT OR Apache-2.0
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, Protocol

from numpy.typing import ArrayLike, DTypeLike, NDArray

class _OnDevice(Protocol):
    def __dlpack__(self, *, stream: Any = ...) -> Any: ...
    def __dlpack_device__(self) -> tuple[int, int]: ...

_Mode = Literal["reflect", "constant", "nearest", "mirror", "wrap", "grid-mirror", "grid-constant", "grid-wrap"]
_Modes = _Mode | Sequence[_Mode]

def correlate1d(
    input: ArrayLike | _OnDevice,
    weights: ArrayLike,
    axis: int = -1,
    output: NDArray[Any] | DTypeLike | None = None,
    mode: _Mode = "reflect",
    cval: complex = 0.0,
    origin: int = 0,
) -> Any: ...
def convolve1d(
    input: ArrayLike | _OnDevice,
    weights: ArrayLike,
    axis: int = -1,
    output: NDArray[Any] | DTypeLike | None = None,
    mode: _Mode = "reflect",
    cval: complex = 0.0,
    origin: int = 0,
) -> Any: ...
def correlate(
    input: ArrayLike | _OnDevice,
    weights: ArrayLike,
    output: NDArray[Any] | DTypeLike | None = None,
    mode: _Mode = "reflect",
    cval: complex = 0.0,
    origin: int | Sequence[int] = 0,
    *,
    axes: int | Sequence[int] | None = None,
) -> Any: ...
def convolve(
    input: ArrayLike | _OnDevice,
    weights: ArrayLike,
    output: NDArray[Any] | DTypeLike | None = None,
    mode: _Mode = "reflect",
    cval: complex = 0.0,
    origin: int | Sequence[int] = 0,
    *,
    axes: int | Sequence[int] | None = None,
) -> Any: ...
def gaussian_filter1d(
    input: ArrayLike | _OnDevice,
    sigma: float,
    axis: int = -1,
    order: int = 0,
    output: NDArray[Any] | DTypeLike | None = None,
    mode: _Mode = "reflect",
    cval: complex = 0.0,
    truncate: float = 4.0,
    *,
    radius: int | None = None,
) -> Any: ...
def gaussian_filter(
    input: ArrayLike | _OnDevice,
    sigma: float | Sequence[float],
    order: int | Sequence[int] = 0,
    output: NDArray[Any] | DTypeLike | None = None,
    mode: _Modes = "reflect",
    cval: complex = 0.0,
    truncate: float = 4.0,
    *,
    radius: int | Sequence[int] | None = None,
    axes: int | Sequence[int] | None = None,
) -> Any: ...
def uniform_filter1d(
    input: ArrayLike | _OnDevice,
    size: int,
    axis: int = -1,
    output: NDArray[Any] | DTypeLike | None = None,
    mode: _Mode = "reflect",
    cval: complex = 0.0,
    origin: int = 0,
) -> Any: ...
def uniform_filter(
    input: ArrayLike | _OnDevice,
    size: int | Sequence[int] = 3,
    output: NDArray[Any] | DTypeLike | None = None,
    mode: _Modes = "reflect",
    cval: complex = 0.0,
    origin: int | Sequence[int] = 0,
    *,
    axes: int | Sequence[int] | None = None,
) -> Any: ...
def prewitt(
    input: ArrayLike | _OnDevice,
    axis: int = -1,
    output: NDArray[Any] | DTypeLike | None = None,
    mode: _Modes = "reflect",
    cval: complex = 0.0,
) -> Any: ...
def sobel(
    input: ArrayLike | _OnDevice,
    axis: int = -1,
    output: NDArray[Any] | DTypeLike | None = None,
    mode: _Modes = "reflect",
    cval: complex = 0.0,
) -> Any: ...
def generic_laplace(
    input: ArrayLike | _OnDevice,
    derivative2: Callable[..., Any],
    output: NDArray[Any] | DTypeLike | None = None,
    mode: _Modes = "reflect",
    cval: complex = 0.0,
    extra_arguments: Sequence[Any] = (),
    extra_keywords: Mapping[str, Any] | None = None,
    *,
    axes: int | Sequence[int] | None = None,
) -> Any: ...
def laplace(
    input: ArrayLike | _OnDevice,
    output: NDArray[Any] | DTypeLike | None = None,
    mode: _Modes = "reflect",
    cval: complex = 0.0,
    *,
    axes: int | Sequence[int] | None = None,
) -> Any: ...
def gaussian_laplace(
    input: ArrayLike | _OnDevice,
    sigma: float | Sequence[float],
    output: NDArray[Any] | DTypeLike | None = None,
    mode: _Modes = "reflect",
    cval: complex = 0.0,
    *,
    axes: int | Sequence[int] | None = None,
    **kwargs: Any,
) -> Any: ...
def generic_gradient_magnitude(
    input: ArrayLike | _OnDevice,
    derivative: Callable[..., Any],
    output: NDArray[Any] | DTypeLike | None = None,
    mode: _Modes = "reflect",
    cval: complex = 0.0,
    extra_arguments: Sequence[Any] = (),
    extra_keywords: Mapping[str, Any] | None = None,
    *,
    axes: int | Sequence[int] | None = None,
) -> Any: ...
def gaussian_gradient_magnitude(
    input: ArrayLike | _OnDevice,
    sigma: float | Sequence[float],
    output: NDArray[Any] | DTypeLike | None = None,
    mode: _Modes = "reflect",
    cval: complex = 0.0,
    *,
    axes: int | Sequence[int] | None = None,
    **kwargs: Any,
) -> Any: ...
