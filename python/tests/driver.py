# SPDX-License-Identifier: MIT OR Apache-2.0
"""Memory of a GPU with nothing but its driver, by ctypes: for machines without torch and CuPy."""

import ctypes

import numpy as np


class Driver:
    """GPU 0, in its primary context, which the package and torch use, too."""

    def __init__(self):
        self.cuda = ctypes.CDLL("libcuda.so.1")
        device, context = ctypes.c_int(), ctypes.c_void_p()
        self.call("cuInit", 0)
        self.call("cuDeviceGet", ctypes.byref(device), 0)
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
        self.call("cuCtxSetCurrent", context)

    def call(self, name, *arguments):
        status = getattr(self.cuda, name)(*arguments)
        if status != 0:
            raise RuntimeError(f"{name} failed with CUDA error {status}")

    def upload(self, values):
        """The address of a copy of an array's memory."""
        values = np.ascontiguousarray(values)
        address = ctypes.c_uint64()
        self.call("cuMemAlloc_v2", ctypes.byref(address), ctypes.c_size_t(values.nbytes))
        host = ctypes.c_void_p(values.ctypes.data)
        self.call("cuMemcpyHtoD_v2", address, host, ctypes.c_size_t(values.nbytes))
        return address.value

    def download(self, address, shape, dtype):
        values = np.empty(shape, dtype)
        host = ctypes.c_void_p(values.ctypes.data)
        self.call("cuMemcpyDtoH_v2", host, ctypes.c_uint64(address), ctypes.c_size_t(values.nbytes))
        return values

    def free(self, address):
        self.call("cuMemFree_v2", ctypes.c_uint64(address))

    def free_bytes(self):
        """What the GPU has left."""
        free, total = ctypes.c_size_t(), ctypes.c_size_t()
        self.call("cuMemGetInfo_v2", ctypes.byref(free), ctypes.byref(total))
        return free.value
