# SPDX-License-Identifier: MIT OR Apache-2.0
from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Any, Literal, NamedTuple

import torch
from numpy.typing import DTypeLike

__all__ = ["Run", "run"]

class Run(NamedTuple):
    fields: dict[Any, torch.Tensor]
    records: torch.Tensor
    times: torch.Tensor

def run(
    source: str | PathLike[str] | Mapping[str, Any],
    steps: int,
    *,
    fields: Mapping[str, Any] | None = None,
    coefficients: Mapping[str, Any] | None = None,
    parameters: Mapping[str, str | float | torch.Tensor] | None = None,
    sources: Any = None,
    solid: Any = None,
    size: int | Sequence[int] | None = None,
    spacing: str | float | Sequence[str | float] | None = None,
    dtype: str | DTypeLike | None = None,
    dt: str | float | None = None,
    engine: str = "auto",
    memory: int | None = None,
    keep_in: Literal["gpu", "memory"] | PathLike[str] | str | None = None,
    keep_as: Literal["f32", "f16", "bf16"] | None = None,
) -> Run: ...
