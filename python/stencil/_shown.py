# SPDX-License-Identifier: MIT OR Apache-2.0
"""What people see: how far steps have come, and pictures of fields."""

import base64
import html
import os
import sys
import tempfile
import time
from collections.abc import Mapping

import numpy as np

from .errors import NotFiniteError

# Points along the longer side of a picture in a notebook.
_PICTURE = 512


class Meter:
    """How far so many steps have come: a line of a terminal, or in a notebook a bar that is drawn anew."""

    def __init__(self, steps):
        self.steps = steps
        self.start = time.perf_counter()
        self.handle = _display(self._html(0))
        self.last = -1.0

    def __call__(self, done, last=False):
        now = time.perf_counter()
        if not last and now - self.last < 0.1:
            return
        self.last = now
        if self.handle is not None:
            self.handle.update(_Html(self._html(done)))
            return
        sys.stderr.write("\r" + self._text(done) + ("\n" if last else ""))
        sys.stderr.flush()

    def _text(self, done):
        part = done / self.steps if self.steps else 1.0
        filled = int(20 * part)
        return f"[{'#' * filled}{'.' * (20 - filled)}] {self._numbers(done)}"

    def _numbers(self, done):
        seconds = time.perf_counter() - self.start
        rate = f", {done / seconds:.3g} steps/s" if seconds > 0 and done else ""
        left = f", {seconds * (self.steps - done) / done:.0f} s left" if 0 < done < self.steps else ""
        return f"{done}/{self.steps} steps{rate}{left}"

    def _html(self, done):
        return f'<progress value="{done}" max="{max(self.steps, 1)}"></progress> {self._numbers(done)}'


class Names:
    """Names that are taken."""

    def __init__(self, taken):
        self.taken = set(taken)

    def free(self, name):
        """The name, with as many `_` after it as make it another one than those before."""
        while name in self.taken:
            name += "_"
        self.taken.add(name)
        return name


class _Html:
    def __init__(self, text):
        self.text = text

    def _repr_html_(self):
        return self.text


def _display(text):
    """The handle of a place in a notebook; none where there is no notebook."""
    if "IPython" not in sys.modules:
        return None
    from IPython import get_ipython

    shell = get_ipython()
    if shell is None or not hasattr(shell, "kernel"):
        return None
    from IPython.display import display

    return display(_Html(text), display_id=True)


def told(progress, steps):
    """Whom to tell how many of so many steps are done: nobody, a meter, or a function that is given."""
    if progress is None or progress is False:
        return None
    if progress is True:
        return Meter(steps)
    if callable(progress):
        return lambda done, last=False: progress(done, steps)
    raise TypeError(f"progress must be True, False or a function, not {type(progress).__name__}\n"
                    "help: progress=True shows a bar; a function is called with the steps that are done and with all")  # fmt: skip


def brief(value):
    """What was asked for in few words: arrays as their shapes."""
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{key!r}: {brief(each)}' for key, each in value.items())}}}"
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, (str, int, float)):
        return repr(value)
    if callable(value) and not hasattr(value, "shape"):
        return f"<function {getattr(value, '__name__', type(value).__name__)}>"
    if isinstance(value, (list, tuple)) and len(value) <= 3 and not any(isinstance(each, (list, tuple)) for each in value):
        several = ", ".join(map(brief, value))
        return f"[{several}]" if isinstance(value, list) else f"({several}{',' * (len(value) == 1)})"
    shape = np.shape(value) if isinstance(value, (list, tuple)) else tuple(getattr(value, "shape", ()))
    return f"<{'x'.join(map(str, shape))} values>" if shape else f"<{type(value).__name__}>"


def source(value):
    """Of what a system was made: a name, a path, or the title of a dict."""
    if isinstance(value, Mapping):
        title = value.get("title")
        return f"{{'title': {title!r}, ...}}" if title else "{...}"
    plain = isinstance(value, (str, os.PathLike)) and "\n" not in str(os.fspath(value))
    return repr(os.fspath(value)) if plain else "…"


def picture(own, field, **options):
    """The bytes of a PNG."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "picture.png")
        own.save(path, fields=[field], **options)
        with open(path, "rb") as file:
            return file.read()


def small_picture(own, field, shape):
    """That of a notebook: of few points; none of a single axis, or of values that are not finite."""
    if len(shape) < 2:
        return None
    try:
        return _small(own, field, shape)
    except NotFiniteError:
        return None


def _small(own, field, shape):
    return picture(own, field, stride=max(1, -(-max(shape) // _PICTURE)))


def page(own):
    """A computation as HTML: what was asked, what computes it, and its fields."""
    shape = own.shape
    images = []
    for field in own.fields if len(shape) > 1 else []:
        try:
            data = base64.b64encode(_small(own, field, shape)).decode()
            image = f'<img style="max-width:100%;image-rendering:pixelated" src="data:image/png;base64,{data}"/>'
        except NotFiniteError as error:
            image = f"<pre>{html.escape(str(error))}</pre>"
        images.append(f"<figure style='display:inline-block'>{image}<figcaption>{html.escape(field)}</figcaption></figure>")
    return f"<pre>{html.escape(str(own))}</pre>{''.join(images)}"
