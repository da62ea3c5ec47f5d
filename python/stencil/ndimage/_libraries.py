# SPDX-License-Identifier: MIT OR Apache-2.0
"""Libraries whose arrays lie in the memory of a GPU. A filter of such an array comes after what its library has asked of the GPU in its present stream,
and before what it asks for next; nobody waits. What a filter gives is an array of the library that its input is of."""

import sys


class _Torch:
    # Types that torch has no sums of.
    NOT_ADDED = ("uint16", "uint32", "uint64")

    def __init__(self, torch, array):
        self._torch = torch
        self._device = array.device

    @staticmethod
    def has(torch, array):
        # What has a gradient, or is stored otherwise, is refused by torch itself, with its own words.
        return isinstance(array, torch.Tensor) and not array.requires_grad and array.layout == torch.strided

    def stream(self):
        """The present stream, as CUDA numbers streams."""
        return self._torch.cuda.current_stream(self._device).cuda_stream

    def capsule(self, array):
        """An array as DLPack has it, without a word on streams."""
        return self._torch.utils.dlpack.to_dlpack(array)

    @staticmethod
    def in_order(array):
        """An array in C order, itself if it is in that order."""
        return array.contiguous()

    def empty(self, shape, dtype):
        """A new array. Raises `AttributeError` for a type that the library does not know."""
        return self._torch.empty(shape, dtype=getattr(self._torch, dtype), device=self._device)

    @staticmethod
    def copy(array, to):
        to.copy_(array)

    @staticmethod
    def add(array, to):
        to.add_(array)

    @staticmethod
    def square(array):
        array.mul_(array)

    @staticmethod
    def root(array):
        array.copy_(array.sqrt() if array.is_floating_point() else array.double().sqrt())


class _Cupy:
    NOT_ADDED = ("bfloat16",)

    def __init__(self, cupy, _):
        self._cupy = cupy

    @staticmethod
    def has(cupy, array):
        return isinstance(array, cupy.ndarray)

    def stream(self):
        return self._cupy.cuda.get_current_stream().ptr

    def capsule(self, array):
        # DLPack's number of the default stream is 1.
        return array.__dlpack__(stream=self.stream() or 1)

    def in_order(self, array):
        return self._cupy.ascontiguousarray(array)

    def empty(self, shape, dtype):
        if dtype == "bfloat16":
            raise AttributeError(dtype)
        return self._cupy.empty(shape, dtype)

    @staticmethod
    def copy(array, to):
        to[...] = array

    def add(self, array, to):
        self._cupy.add(to, array, to)

    def square(self, array):
        self._cupy.multiply(array, array, array)

    def root(self, array):
        self._cupy.sqrt(array, array, casting="unsafe")


_KNOWN = {"torch": _Torch, "cupy": _Cupy}


def of(array):
    """The library of an array, if it is one of those that are known."""
    name = type(array).__module__.partition(".")[0]
    for known, library in _KNOWN.items():
        # Subclasses have modules of their own.
        module = sys.modules.get(known) if name == known or name not in _KNOWN else None
        if module is not None and library.has(module, array):
            return library(module, array)
    return None
