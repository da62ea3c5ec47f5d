# SPDX-License-Identifier: MIT OR Apache-2.0
"""What goes wrong, a class for each kind. Each is also the built-in exception that says nearly the same."""


class Error(Exception):
    """A failure of the library.

    `kind` says what it is about, in a word; `facts` is a dict of what else is known, such as the step and the
    position of a value that is not finite. Which facts there are depends on the failure; the text has all of them.
    `help` says what can be done about it, and is the last line of the text.
    """

    def __init__(self, text, kind="", facts=None, help=""):
        super().__init__(text)
        self.kind = kind
        self.facts = dict(facts or {})
        self.help = help

    def __str__(self):
        text = str(self.args[0])
        return f"{text}\nhelp: {self.help}" if self.help else text

    def __reduce__(self):
        return type(self), (self.args[0], self.kind, self.facts, self.help)


class InputError(Error, ValueError):
    """What was asked for is not possible: shapes, boundaries, names, files that hold something else."""


class NotFiniteError(Error, ArithmeticError):
    """A value is infinite or not a number, in the array that was given or after some step."""


class OutOfMemoryError(Error, MemoryError):
    """There is not enough memory, of this machine or of the GPU."""


class DeviceError(Error, RuntimeError):
    """There is no GPU, driver or device code, or they fail."""


class FileError(Error, OSError):
    """A file cannot be read or written."""


class WrongError(Error, AssertionError):
    """A result differs from the reference by more than rounding explains."""


class StoppedError(Error):
    """Somebody asked for an end."""
