# SPDX-License-Identifier: MIT OR Apache-2.0
"""Memory of a process that computes: an array of n bytes is held at most twice besides what is given and what there is afterwards."""

import json
import os
import pathlib
import subprocess
import sys

import pytest

# The peak of each piece of work over what there was before it and over what there is after it, and what stays, in bytes of the array.
# What stays is anonymous memory: how many pages of the library's file are mapped at once is up to the kernel.
MEASURED = """
import ctypes, gc, json, os, resource, sys, tempfile, numpy as np
if os.environ.get("STENCIL_LIBRARY"):
    import conftest
import stencil

# PR_SET_THP_DISABLE: in pages of 2 MiB, a process may have two of them more or less than it uses.
library = ctypes.CDLL(None)
library.prctl(41, 1, 0, 0, 0)

def status(key):
    for line in open("/proc/self/status"):
        if line.startswith(key):
            return 1024 * int(line.split()[1])

def peak():
    return 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

found = {}

def collect():
    gc.collect()
    # Freed memory that the C library keeps for later is not held by an object.
    getattr(library, "malloc_trim", lambda _: None)(0)

def measured(name, work):
    collect()
    with open("/proc/self/clear_refs", "w") as file:
        file.write("5")
    before, held = status("VmRSS"), status("RssAnon")
    made = work()
    most = status("VmHWM")
    collect()
    found[name] = [each / n for each in (most - before, most - status("VmRSS"), status("RssAnon") - held)]
    return made

u = np.ones((3072, 4096), "f4")
n = u.nbytes
small = np.ones((64, 64), "f4")
heat = {"stencils": {"laplace": {"derivative": "laplace", "order": 2}}}

def system(u):
    text = {**heat, "constants": {"k": 1}, "fields": {"u": {"start": u, "next": "u + 0.1*k*laplace(u)"}}}
    return stencil.System(text, engine="cpu")

def simulation(u):
    return stencil.Simulation("heat-2d", u, boundary="edge", engine="cpu")

folder = tempfile.mkdtemp()
path = os.path.join(folder, "kept")

# Threads, tables and programs that are made once.
for make in (system, simulation):
    own = make(small)
    own.step(3), own.copy(), own.field()
    own.checkpoint(path), own.resume(path), own.save(path + ".npy")
    os.remove(path), os.remove(path + ".npy")
stencil.run("heat-2d", small, 100, engine="cpu", chain=2)

result = measured("run", lambda: stencil.run("heat-2d", u, 3, engine="cpu"))
del result
result = measured("many steps", lambda: stencil.run("heat-2d", u, 30, engine="cpu"))
del result
for kind, make in {"System": system, "Simulation": simulation}.items():
    own = measured(f"{kind}", lambda: make(u))
    measured(f"{kind} steps", lambda: own.step(3))
    result = measured(f"{kind} field", own.field)
    del result
    measured(f"{kind} set", lambda: own.__setitem__("u", u))
    measured(f"{kind} part", lambda: own["u"].__setitem__(slice(2, 4), 1))
    other = measured(f"{kind} copy", own.copy)
    del other
    measured(f"{kind} checkpoint", lambda: own.checkpoint(path))
    measured(f"{kind} resume", lambda: own.resume(path))
    os.remove(path)
    measured(f"{kind} save", lambda: own.save(path + ".npy"))
    os.remove(path + ".npy")
    if kind == "System":
        measured(f"{kind} parameter", lambda: own.parameters.__setitem__("k", 0.5))
    del own
text = {"grid": {"size": u.shape, "dtype": "f32"}, "fields": {"u": {"start": lambda x, y: u, "next": "u/2"}}}
own = measured("of a function", lambda: stencil.System(text, engine="cpu"))
# The input, what is left of the last system, and the most that a piece of work takes.
assert peak() <= 8 * n + (1 << 28), peak() / n
os.rmdir(folder)
json.dump(found, sys.stdout)
"""


@pytest.fixture(scope="module")
def measured():
    if not os.access("/proc/self/clear_refs", os.W_OK):
        pytest.skip("the peak of a piece of work is told by Linux")
    here = str(pathlib.Path(__file__).parent)
    path = os.pathsep.join([here, *filter(None, [os.environ.get("PYTHONPATH")])])
    environment = {**os.environ, "PYTHONPATH": path}
    found = subprocess.run([sys.executable, "-c", MEASURED], capture_output=True, text=True, env=environment)
    assert found.returncode == 0, found.stderr
    return json.loads(found.stdout)


# Tables and stacks of threads, beside arrays of 48 MiB.
SLACK = 0.2


def test_an_array_is_held_at_most_twice_besides_what_is_there_before_or_after(measured):
    assert len(measured) == 22
    for name, (over_before, over_after, _) in measured.items():
        assert min(over_before, over_after) <= 2 + SLACK, (name, over_before, over_after)


def test_what_stays_is_what_was_given_and_the_values_now_and_next(measured):
    def left(*names):
        return sum(measured[name][2] for name in names)

    # A system keeps what it is made of, to be made of it again; both keep the values, and those after the next step.
    assert left("System", "System steps") <= 3 + SLACK
    assert left("Simulation", "Simulation steps") <= 2 + SLACK
    # A copy has the given arrays of what it is a copy of.
    assert left("System copy") <= 1 + SLACK and left("Simulation copy") <= 1 + SLACK
    for piece in ["set", "part", "checkpoint", "save"]:
        for kind in ["System", "Simulation"]:
            assert abs(left(f"{kind} {piece}")) <= SLACK, (kind, piece, measured)
