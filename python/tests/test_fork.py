# SPDX-License-Identifier: MIT OR Apache-2.0
"""Processes that `fork` makes once their parent has computed, as `multiprocessing` does by default on Linux before
Python 3.14. They have none of the threads of their parent."""

import gc
import multiprocessing
import os
import pickle
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


def test_children_compute_at_a_time_and_leave_no_threads():
    run()
    with multiprocessing.get_context("fork").Pool(3) as pool:
        found = [pool.apply_async(run_and_count_threads) for _ in range(6)]
        counts = [each.get(SECONDS) for each in found]
    # Those of a pool end with its computation.
    assert max(counts) <= 2, counts


def run_and_count_threads():
    for _ in range(3):
        run_as("f4")
    # A thread that has ended may still be listed for a moment.
    return min(count_threads(pause) for pause in [0, 0.01, 0.1])


def count_threads(pause):
    time.sleep(pause)
    listed = "/proc/self/task"
    return len(os.listdir(listed)) if os.path.exists(listed) else 1


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
