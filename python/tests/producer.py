# SPDX-License-Identifier: MIT OR Apache-2.0
"""An array that gives itself by DLPack, made by hand with nothing but the standard library."""

import ctypes

OLD, NEW = b"dltensor", b"dltensor_versioned"
# A capsule keeps the address of its name, not the name.
_USED_OLD, _USED_NEW = b"used_dltensor", b"used_dltensor_versioned"
CUDA = 2

_new = ctypes.pythonapi.PyCapsule_New
_new.restype = ctypes.py_object
_new.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
_name = ctypes.pythonapi.PyCapsule_GetName
_name.restype = ctypes.c_char_p
_name.argtypes = [ctypes.py_object]
_rename = ctypes.pythonapi.PyCapsule_SetName
_rename.argtypes = [ctypes.py_object, ctypes.c_char_p]
# The same of a capsule that is about to go, which must not become an object again.
_raw = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_char_p)
_valid = _raw(("PyCapsule_IsValid", ctypes.pythonapi))
_raw = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p)
_pointer = _raw(("PyCapsule_GetPointer", ctypes.pythonapi))


class Tensor(ctypes.Structure):
    """`DLTensor`."""

    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device", ctypes.c_int32),
        ("number", ctypes.c_int32),
        ("axes", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


Deleter = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


class Old(ctypes.Structure):
    """`DLManagedTensor`."""

    _fields_ = [("tensor", Tensor), ("context", ctypes.c_void_p), ("deleter", Deleter)]


class New(ctypes.Structure):
    """`DLManagedTensorVersioned`."""

    _fields_ = [
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("context", ctypes.c_void_p),
        ("deleter", Deleter),
        ("flags", ctypes.c_uint64),
        ("tensor", Tensor),
    ]


# What is given lives until its deleter is called.
_alive = {}
# What had its deleter called once more after that.
freed_twice = []


@Deleter
def _delete(address):
    if address in _alive:
        _alive.pop(address)[-1].freed += 1
    else:
        freed_twice.append(address)


@ctypes.CFUNCTYPE(None, ctypes.c_void_p)
def _destroy(capsule):
    """Of a capsule that nobody took over."""
    for name, kind in [(OLD, Old), (NEW, New)]:
        if _valid(capsule, name):
            address = _pointer(capsule, name)
            kind.from_address(address).deleter(address)


def named(capsule, name=None):
    """The name of a capsule; with another one, the capsule after it got that."""
    if name is None:
        return _name(capsule)
    _rename(capsule, name)
    return capsule


def managed_of(capsule):
    """The structure of a capsule."""
    kind = {OLD: Old, NEW: New}[_name(capsule)]
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    return kind.from_address(get(capsule, _name(capsule)))


def tensor_of(capsule):
    """What a capsule says."""
    return managed_of(capsule).tensor


class Producer:
    """Float32 values at an address, or whatever `dtype` (code, bits, lanes) says, which are not looked at.

    The first value lies `offset` bytes after `address`, which the capsule says by its `byte_offset`. `flags` are those
    of version 1. `asked` has the arguments of each call of `__dlpack__`, `given` counts the capsules, `freed` those that are done.
    """

    def __init__(
        self, shape, strides=None, *, address=0x1000, offset=0, gpu=0, device=CUDA, dtype=(2, 32, 1), version=1, minor=0,
        flags=0,
    ):  # fmt: skip
        self.shape, self.strides, self.address, self.dtype = shape, strides, address, dtype
        self.device, self.gpu, self.version, self.minor = device, gpu, version, minor
        self.offset, self.flags = offset, flags
        self.says = (device, gpu)
        self.asked, self.given, self.freed = [], 0, 0

    def __dlpack_device__(self):
        return self.says

    def __dlpack__(self, **arguments):
        self.asked.append(dict(arguments))
        if self.version == 0 and "max_version" in arguments:
            raise TypeError("__dlpack__() got an unexpected keyword argument 'max_version'")
        return self.capsule()

    def capsule(self):
        count = len(self.shape)
        shape = (ctypes.c_int64 * count)(*self.shape)
        strides = self.strides and (ctypes.c_int64 * count)(*self.strides)
        code, bits, lanes = self.dtype
        pointer = ctypes.POINTER(ctypes.c_int64)
        tensor = Tensor(
            self.address, self.device, self.gpu, count, code, bits, lanes,
            ctypes.cast(shape, pointer), ctypes.cast(strides, pointer) if strides else None, self.offset,
        )  # fmt: skip

        if self.version == 0:
            managed, name = Old(tensor, None, _delete), OLD
        else:
            managed, name = New(self.version, self.minor, None, _delete, self.flags, tensor), NEW
        address = ctypes.addressof(managed)
        _alive[address] = (managed, shape, strides, self)
        self.given += 1
        return _new(address, name, ctypes.cast(_destroy, ctypes.c_void_p))


def take_over(capsule):
    """Does what a consumer does: renames the capsule. Gives a function that frees what it had."""
    name = _name(capsule)
    kind = {OLD: Old, NEW: New}[name]
    tensor = tensor_of(capsule)
    address = ctypes.addressof(tensor) - kind.tensor.offset
    _rename(capsule, {OLD: _USED_OLD, NEW: _USED_NEW}[name])
    return lambda: kind.from_address(address).deleter(address)
