# SPDX-License-Identifier: MIT OR Apache-2.0
"""Processes that `fork` makes once their parent has computed, as `multiprocessing` does by default on Linux before
Python 3.14. They have none of the threads of their parent."""

import gc
import multiprocessing
import os
import pickle
import signal
import time

import numpy as np
import pytest
import stencil
from oracle import noise

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork"),
    # Python warns of fork where there are threads, which is what this is about.
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]

# Long enough for a busy machine, and short beside for ever.
SECONDS = 60


def run():
    return stencil.run("star2d1r", noise(200, 300), 5, engine="cpu")


def swept():
    return stencil.run("star2d1r", noise(700, 900), 2, engine="cpu")


def run_as(dtype, engine="cpu", **options):
    return stencil.run("star2d1r", noise(64, 64, dtype=dtype), 20, engine=engine, **options).astype("f8")


def rounded():
    return run_as("f8") - stencil.run("star2d1r", noise(64, 64), 5, dtype="f16", engine="cpu")


def of_weights():
    return stencil.run(noise(3, 3, dtype="f4") / 9, noise(64, 64), 5, engine="cpu")


def simulation():
    own = stencil.Simulation("star2d1r", noise(64, 64), engine="cpu")
    return np.stack([now.field() for now in own.observe(6, 2)])


def system():
    own = stencil.System("gray-scott", engine="cpu")
    own.step(3)
    return own.field("v")


def plan():
    return np.array([len(stencil.plan("star2d1r", (64, 64), machine="h200")["ranked"])])


CALLS = {
    "run": (run, {}),
    "swept": (swept, {}),
    "verified": (run_as, {"dtype": "f4", "verify": "full"}),
    "transformed": (run_as, {"dtype": "f8", "engine": "fft", "boundary": "periodic"}),
    "emulated": (run_as, {"dtype": "f2", "engine": "emulate"}),
    "rounded": (rounded, {}),
    "weights": (of_weights, {}),
    "simulation": (simulation, {}),
    "system": (system, {}),
    "plan": (plan, {}),
}


def called(name):
    call, arguments = CALLS[name]
    return call(**arguments)


def in_a_child(call, *arguments):
    """What a call gives in a copy of this process."""
    with multiprocessing.get_context("fork").Pool(1) as pool:
        return pool.apply_async(call, arguments).get(SECONDS)


if os.path.exists("/dev/nvidia0"):
    # It would compute on the GPU, which CUDA refuses in a copy of a process that has used it.
    del CALLS["transformed"]


@pytest.mark.parametrize("name", CALLS)
def test_a_child_computes_what_its_parent_computes(name):
    expected = called(name)
    np.testing.assert_array_equal(in_a_child(called, name), expected)


def test_children_compute_at_a_time_with_threads_that_they_make_once():
    run()
    with multiprocessing.get_context("fork").Pool(3) as pool:
        found = [pool.apply_async(run_and_list_threads) for _ in range(6)]
        listed = [each.get(SECONDS) for each in found]
    for first, last in listed:
        assert first == last and len(first) <= 1 + len(os.sched_getaffinity(0)), listed


def run_and_list_threads():
    """The threads after some calls, and after more of all kinds."""
    swept(), run_as("f4")
    first = threads()
    for _ in range(5):
        swept(), run_as("f4"), rounded(), simulation(), stencil.ndimage.gaussian_filter(noise(300, 300), 2)
    return first, threads()


def threads():
    """Those that stay: one that has ended may still be listed for a moment."""
    listed = "/proc/self/task"
    if not os.path.exists(listed):
        return set()
    found = set(os.listdir(listed))
    for _ in range(5):
        time.sleep(0.02)
        found &= set(os.listdir(listed))
    return found


def swept_for_ever():
    weights, u = np.full((21, 21), 1 / 441), np.ones((4000, 4000))
    while True:
        stencil.run(weights, u, 16, boundary="periodic", engine="cpu")


LONG = {
    "swept": swept_for_ever,
    "session": lambda: stencil.run("star2d1r", noise(2000, 2000), 10**9, engine="cpu"),
    "simulation": lambda: stencil.Simulation("star2d1r", noise(200, 300), engine="cpu").step(10**9),
    "system": lambda: stencil.System("gray-scott", engine="cpu").step(10**9),
}


@pytest.mark.parametrize("name", LONG)
def test_ctrl_c_ends_what_a_child_computes(name):
    run()
    ready, told = os.pipe()
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            signal.signal(signal.SIGINT, signal.default_int_handler)
            os.write(told, b"1")
            LONG[name]()
        except KeyboardInterrupt:
            # The process still computes.
            status = 7 if swept().shape == (700, 900) else 2
        finally:
            os._exit(status)
    os.read(ready, 1)
    time.sleep(0.5)
    os.kill(pid, signal.SIGINT)
    start, ended = time.monotonic(), (0, 0)
    while ended[0] == 0 and time.monotonic() - start < SECONDS:
        time.sleep(0.02)
        ended = os.waitpid(pid, os.WNOHANG)
    if ended[0] == 0:
        os.kill(pid, signal.SIGKILL)
        ended = os.waitpid(pid, 0)
    os.close(ready), os.close(told)
    assert os.waitstatus_to_exitcode(ended[1]) == 7


def nested():
    run()
    pid = os.fork()
    if pid == 0:
        run()
        os._exit(7)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def test_a_child_of_a_child_computes():
    run()
    assert in_a_child(nested) == 7


made = {}


def uses_that_of_its_parent():
    told = []
    for own in made.values():
        reads = [lambda own=own, name=name: getattr(own, name) for name in ("steps", "fields")]
        changes = [
            lambda own=own: own.__setitem__("u", 1), lambda own=own: own["u"][:], own.copy, own._repr_html_,
            lambda own=own: pickle.dumps(own), lambda own=own: own.checkpoint("no.state"),
        ]  # fmt: skip
        for use in [own.step, lambda own=own: own.field("u"), own.report, own.__str__, *reads, *changes]:
            with pytest.raises(RuntimeError) as caught:
                use()
            told.append(str(caught.value))
    # It goes without a wait for a thread that is not there.
    made.clear()
    gc.collect()
    return told


def test_a_simulation_of_the_parent_is_refused_and_may_go():
    made["run"] = stencil.Simulation("star2d1r", noise(64, 64), engine="cpu")
    made["system"] = stencil.System("gray-scott", engine="cpu")
    made["run"].step(2)
    told = in_a_child(uses_that_of_its_parent)
    assert len(told) == 24
    for text in told:
        assert f"belongs to the process {os.getpid()} that made it" in text and "\nhelp: make the simulation in" in text
    # The parent's own goes on.
    made["run"].step(2)
    assert made.pop("run").steps == 4 and made.pop("system").steps == 0
