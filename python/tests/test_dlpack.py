# SPDX-License-Identifier: MIT OR Apache-2.0
"""Arrays of a GPU, as far as they go without one: what a capsule says is read, and refused with its numbers.

The producer is made by hand (`producer.py`); with a GPU, `gpu_torch.py` computes with such arrays.
"""

import itertools

import numpy as np
import pytest
import stencil
from producer import NEW, OLD, Producer, freed_twice, named


def refused(producer, text, kind=stencil.InputError):
    with pytest.raises(kind) as caught:
        stencil.run("star2d1r", producer, 1, engine="cpu")
    assert text in str(caught.value), caught.value
    # Whatever became of it, the producer has its memory back.
    assert producer.freed == producer.given and not freed_twice


def test_a_good_array_gets_as_far_as_the_driver():
    for version in (0, 1):
        producer = Producer((20, 30), version=version)
        # The simulation asks the driver for the values; here there is none.
        refused(producer, "", stencil.DeviceError)
        assert producer.given == 1
        with pytest.raises(stencil.DeviceError):
            stencil.Simulation("star2d1r", producer, engine="cpu")
        assert producer.freed == producer.given == 2


def test_the_producer_is_asked_for_the_default_stream_and_version_1():
    producer = Producer((20, 30), version=1)
    refused(producer, "", stencil.DeviceError)
    assert producer.asked == [{"stream": 1, "max_version": (1, 0)}]
    # One of before version 1 knows no `max_version`, and is asked again.
    producer = Producer((20, 30), version=0)
    refused(producer, "", stencil.DeviceError)
    assert producer.asked == [{"stream": 1, "max_version": (1, 0)}, {"stream": 1}]
    # A later version of the same first number has more flags, and the same structures.
    refused(Producer((20, 30), version=1, minor=9), "", stencil.DeviceError)


def test_a_later_version_is_refused():
    refused(Producer((20, 30), version=2, minor=3), "the array is given by DLPack 2.3")


def test_strides_are_honoured_or_refused_with_the_numbers():
    # Rows apart, and planes between the rows of others.
    refused(Producer((20, 30), strides=(64, 1)), "", stencil.DeviceError)
    transposed = Producer((20, 30), strides=(1, 20))
    refused(transposed, "strides [1, 20], in values, of the extents [20, 30]")
    refused(Producer((20, 30), strides=(0, 1)), "rows must not overlap")
    refused(Producer((20, 30), strides=(0, 1)), "tensor.contiguous()")


@pytest.mark.parametrize(
    "name, shape, strides",
    [
        # Every other value, backwards, each value the first; rows and planes that overlap or run backwards.
        *[("star1d1r", (30,), (stride,)) for stride in (2, -1, 0)],
        *[("star2d1r", (20, 30), strides) for strides in [(60, 2), (30, -1), (30, 0), (29, 1), (-30, 1), (1, 20)]],
        *[("star3d1r", (4, 5, 6), strides) for strides in [(60, 12, 2), (30, -6, 1), (-30, 6, 1), (30, 5, 1), (1, 4, 20)]],
    ],
)
def test_values_that_do_not_lie_in_rows_are_refused(name, shape, strides):
    producer = Producer(shape, strides)
    with pytest.raises(stencil.InputError) as caught:
        stencil.run(name, producer, 1, engine="cpu")
    assert f"strides {list(strides)}, in values, of the extents {list(shape)}" in str(caught.value)
    assert producer.freed == producer.given == 1 and not freed_twice


def test_another_gpu_than_the_one_that_computes_is_refused():
    refused(Producer((20, 30), gpu=1), "it lies on GPU 1, and GPU 0 computes")
    says = Producer((20, 30))
    says.says = (2, 5)
    refused(says, "says that it lies on device 5 of kind 2, and gives one of device 0 of kind 2")


@pytest.mark.parametrize("kind", [1, 3, 7, 10, 13])
def test_memory_of_another_kind_is_refused(kind):
    producer = Producer((20, 30), device=kind)
    producer.says = (2, 0)
    refused(producer, f"says that it lies on device 0 of kind 2, and gives one of device 0 of kind {kind}")


def test_of_all_types_four_are_taken():
    taken = {(2, 16, 1), (2, 32, 1), (2, 64, 1), (4, 16, 1)}
    for dtype in itertools.product(range(7), (1, 8, 16, 32, 64, 128), (0, 1, 2, 4)):
        if dtype in taken:
            refused(Producer((20, 30), dtype=dtype), "", stencil.DeviceError)
        else:
            code, bits, lanes = dtype
            refused(Producer((20, 30), dtype=dtype), f"code {code} of {bits} bits in {lanes} lanes")


def test_axes_that_there_are_not():
    refused(Producer((2, 2, 20, 30)), "1 to 3 axes, not 4")
    refused(Producer(()), "1 to 3 axes, not 0")
    refused(Producer((20,)), "size 20 has 1 axes, the stencil has 2")
    for shape in [(20, 0), (0, 30), (0, 0), (20, -1)]:
        refused(Producer(shape), "every axis needs at least one point")


@pytest.mark.parametrize("flags", range(4))
def test_arrays_that_are_read_only_or_copies_are_taken(flags):
    refused(Producer((20, 30), flags=flags), "", stencil.DeviceError)


def test_another_type_than_that_of_the_array_is_refused():
    producer = Producer((20, 30))
    with pytest.raises(stencil.InputError, match="its values are f32, and f16 is asked for"):
        stencil.run("star2d1r", producer, 1, dtype="f16")
    with pytest.raises(stencil.InputError, match="verify='full' compares arrays of the host"):
        stencil.run("star2d1r", producer, 1, verify="full")
    assert producer.freed == producer.given


def test_what_is_no_capsule_is_refused():
    class Nonsense(Producer):
        def __dlpack__(self, **arguments):
            return 7

    with pytest.raises(TypeError):
        stencil.run("star2d1r", Nonsense((20, 30)), 1)

    class Used(Producer):
        def __dlpack__(self, **arguments):
            return named(super().__dlpack__(**arguments), b"used_dltensor_versioned")

    with pytest.raises(stencil.InputError, match="no array that nobody has taken yet"):
        stencil.run("star2d1r", Used((20, 30)), 1)


def test_errors_of_the_producer_are_those_that_are_raised():
    class Broken(Producer):
        def __dlpack__(self, **arguments):
            raise BufferError("requires grad")

    with pytest.raises(BufferError, match="requires grad"):
        stencil.run("star2d1r", Broken((20, 30)), 1)


def test_a_field_on_the_gpu_needs_one():
    simulation = stencil.Simulation("star2d1r", np.ones((20, 30)), engine="cpu")
    with pytest.raises(stencil.DeviceError):
        simulation.field(device="cuda")
    with pytest.raises(stencil.InputError, match="device: 'tpu' is none of cpu, cuda"):
        simulation.field(device="tpu")
    np.testing.assert_array_equal(simulation.field(device="cpu"), np.ones((20, 30)))


def test_capsules_made_by_hand_are_those_of_dlpack():
    """The oracle of the producer: numpy reads one whose memory is the host's."""
    memory = np.arange(32, dtype=np.float32)
    for version, name in [(0, OLD), (1, NEW)]:
        assert named(Producer((3, 4), version=version).capsule()) == name
        for offset, strides in [(0, None), (8, None), (20, (5, 1)), (8, (1, 3))]:
            producer = Producer(
                (3, 4), strides, address=memory.ctypes.data, offset=offset, device=1, version=version
            )
            steps = [4 * stride for stride in strides or (4, 1)]
            expected = np.lib.stride_tricks.as_strided(memory[offset // 4 :], (3, 4), steps)
            np.testing.assert_array_equal(np.from_dlpack(producer), expected)
            assert producer.freed == producer.given == 1
