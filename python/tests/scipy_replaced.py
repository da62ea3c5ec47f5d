# SPDX-License-Identifier: MIT OR Apache-2.0
"""A plugin of pytest: puts the functions of `stencil.ndimage` in the place of scipy's before scipy's own tests are read."""

import conftest  # noqa: F401  finds the library that cargo built
import scipy.ndimage
from scipy._lib import _array_api

from stencil import ndimage

CALLS = dict.fromkeys(ndimage.__all__, 0)


def counted(name):
    own, theirs = getattr(ndimage, name), getattr(scipy.ndimage, name)

    def replaced(*args, **kwargs):
        CALLS[name] += 1
        return own(*args, **kwargs)

    replaced.__name__ = name
    table = getattr(_array_api, "xp_capabilities_table", {})
    if theirs in table:
        table[replaced] = table[theirs]
    return replaced


for name in ndimage.__all__:
    setattr(scipy.ndimage, name, counted(name))


def pytest_terminal_summary(terminalreporter):
    """Says how often each function was called: 0 would mean that scipy's was tested."""
    for name, count in CALLS.items():
        terminalreporter.write_line(f"stencil.ndimage.{name}: {count} calls")
