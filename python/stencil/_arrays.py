# SPDX-License-Identifier: MIT OR Apache-2.0
"""Whatever is given as an array, as an array of numpy."""

import numpy as np

from .errors import InputError

_CUDA = 2


def on_gpu(value):
    """Whether it is an array in the memory of a GPU."""
    device = getattr(value, "__dlpack_device__", None)
    return device is not None and device()[0] == _CUDA


def on_host(what, value):
    """Values as an array of numpy, in the same memory where that can be; `what` names them in errors."""
    if type(value) is np.ndarray:
        return value
    if _is_masked(value):
        help = "give values for them, as by numpy.ma.filled(array, 0); points that keep values, and obstacles, are `keep` and `solid` of a System"
        raise InputError(f"{what}: some values are masked, and nobody knows what they are", "input", {}, help)
    if on_gpu(value):
        # A `DeviceArray` has a copy for the host.
        if not callable(getattr(value, "numpy", None)) or hasattr(value, "__array__"):
            help = "set the whole field with it, or copy it to the host first, as by tensor.cpu() of torch or cupy.asnumpy"
            raise InputError(f"an array of a GPU is given for {what}", "input", {}, help)
        return value.numpy()
    is_foreign = hasattr(value, "__dlpack__")
    try:
        return np.asarray(value) if hasattr(value, "__array__") or not is_foreign else np.from_dlpack(value)
    except ValueError as error:
        # Lists of several lengths.
        raise InputError(f"{what}: {error}", "input", {}, "give an array, lists of one length, or a number") from None
    except (BufferError, TypeError) as error:
        if not is_foreign:
            raise
        help = "convert it first, as by tensor.float() of torch; of bfloat16 numpy has arrays by the package ml_dtypes"
        raise InputError(f"{what}: numpy does not take this array: {error}", "input", {}, help) from None


def _is_masked(value):
    """Whether values are missing, also in lists of arrays."""
    if isinstance(value, np.ma.MaskedArray):
        return np.ma.is_masked(value)
    if not isinstance(value, (list, tuple)):
        return False
    kinds = {kind for kind in set(map(type, value)) if issubclass(kind, (np.ma.MaskedArray, list, tuple))}
    return bool(kinds) and any(_is_masked(each) for each in value if type(each) in kinds)
