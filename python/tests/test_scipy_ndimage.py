# SPDX-License-Identifier: MIT OR Apache-2.0
"""scipy's own tests of filters, with the functions of `stencil.ndimage` in the place of scipy's. The tests of other filters
run, too: scipy's filters stay in their place."""

import os
import pathlib
import re
import subprocess
import sys

import pytest

scipy = pytest.importorskip("scipy")
pytest.importorskip("hypothesis")

# Tests of scipy that cannot pass, with the reason.
CANNOT = {}


def test_scipys_own_tests_pass():
    here = pathlib.Path(__file__).parent
    tests = pathlib.Path(scipy.__file__).parent / "ndimage" / "tests" / "test_filters.py"
    if not tests.exists():
        pytest.skip("this scipy comes without its tests")
    paths = [str(here), os.environ.get("PYTHONPATH", "")]
    left_out = [argument for name in CANNOT for argument in ("--deselect", f"{tests}::{name}")]
    options = ["-q", "-p", "scipy_replaced", "-p", "no:cacheprovider", "-o", "addopts=", "-W", "ignore", *left_out]
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", *options, str(tests)],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(paths)},
        capture_output=True,
        text=True,
        cwd=here,
    )
    assert ran.returncode == 0, ran.stdout[-6000:] + ran.stderr[-2000:]
    counts = dict(re.findall(r"stencil\.ndimage\.(\w+): (\d+) calls", ran.stdout))
    unused = [name for name, count in counts.items() if count == "0"]
    assert counts and not unused, unused
    passed = re.search(r"(\d+) passed", ran.stdout)
    assert passed and int(passed[1]) > 800, ran.stdout[-600:]
    print(passed[0])
