# SPDX-License-Identifier: MIT OR Apache-2.0
"""Arrays of a GPU, as far as they go without one: what a capsule says is read, and refused with its numbers.

The producer is made by hand (`producer.py`); with a GPU, `gpu_torch.py` computes with such arrays.
"""

import numpy as np
import pytest
import stencil
from producer import NEW, OLD, Producer, named


def refused(producer, text, kind=stencil.InputError):
    with pytest.raises(kind) as caught:
        stencil.run("star2d1r", producer, 1, engine="cpu")
    assert text in str(caught.value), caught.value
    # Whatever became of it, the producer has its memory back.
    assert producer.freed == producer.given


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
    refused(Producer((20, 30), strides=(60, 2)), "strides [60, 2]")
    refused(Producer((20, 30), strides=(0, 1)), "rows must not overlap")
    refused(Producer((20, 30), strides=(0, 1)), "tensor.contiguous()")


def test_another_gpu_than_the_one_that_computes_is_refused():
    refused(Producer((20, 30), gpu=1), "it lies on GPU 1, and GPU 0 computes")
    says = Producer((20, 30))
    says.says = (2, 5)
    refused(says, "says that it lies on device 5 of kind 2, and gives one of device 0 of kind 2")


def test_types_and_axes_that_there_are_not():
    refused(Producer((20, 30), dtype=(0, 32, 1)), "not values of DLPack's code 0 of 32 bits in 1 lanes")
    refused(Producer((20, 30), dtype=(2, 32, 4)), "in 4 lanes")
    refused(Producer((2, 2, 20, 30)), "1 to 3 axes, not 4")
    refused(Producer((20,)), "size 20 has 1 axes, the stencil has 2")
    refused(Producer((20, 0)), "0")


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
    with pytest.raises(stencil.InputError, match="there is no device 'tpu': 'cpu' or 'cuda'"):
        simulation.field(device="tpu")
    np.testing.assert_array_equal(simulation.field(device="cpu"), np.ones((20, 30)))


def test_capsules_made_by_hand_are_those_of_dlpack():
    """The oracle of the producer: numpy reads one whose memory is the host's."""
    u = np.arange(12, dtype=np.float32).reshape(3, 4)
    for version, name in [(0, OLD), (1, NEW)]:
        producer = Producer((3, 4), address=u.ctypes.data, device=1, version=version)
        assert named(producer.capsule()) == name
        producer = Producer((3, 4), address=u.ctypes.data, device=1, version=version)
        np.testing.assert_array_equal(np.from_dlpack(producer), u)
        assert producer.freed == producer.given == 1
