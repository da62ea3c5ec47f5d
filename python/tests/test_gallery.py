# SPDX-License-Identifier: MIT OR Apache-2.0
"""The functions of the page docs/reference/python-gallery.md, with few points, and that the page shows them as they are."""

import importlib.util
import pathlib
import struct
import sys

import pytest

ROOT = pathlib.Path(__file__).parents[2]
SOURCE = ROOT / "python" / "examples" / "gallery.py"
if not SOURCE.exists():
    pytest.skip("the gallery lies in the repository", allow_module_level=True)
spec = importlib.util.spec_from_file_location("gallery", SOURCE)
gallery = sys.modules["gallery"] = importlib.util.module_from_spec(spec)
spec.loader.exec_module(gallery)


@pytest.mark.parametrize("name", [function.__name__ for function in gallery.ALL])
def test_a_picture_is_made(name):
    data = getattr(gallery, name)(48)
    assert data.startswith(b"\x89PNG\r\n\x1a\n")
    width, height = struct.unpack(">II", data[16:24])
    assert 48 <= width <= 192 and 32 <= height <= 192
    # Not all of one colour.
    assert len(data) > 200


def test_the_page_shows_what_is_there():
    assert (ROOT / "docs" / "reference" / "python-gallery.md").read_text() == gallery.page(), (
        "write it anew: python python/examples/gallery.py docs"
    )
    for function in gallery.ALL:
        assert (ROOT / "docs" / "images" / f"python-{function.__name__}.png").stat().st_size < 60_000
