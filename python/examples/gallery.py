# SPDX-License-Identifier: MIT OR Apache-2.0
"""The pictures of docs/reference/python-gallery.md, and that page, which shows the functions here:

    python python/examples/gallery.py docs

Each function takes about how many points an axis has, and gives the bytes of a PNG.
"""

import inspect
import pathlib
import sys

import numpy as np
import stencil
from stencil import ndimage


def two_slits(n=360):
    """A wave behind two slits: obstacles are an array of numpy, and waves leave by a layer that absorbs them."""
    y, x = np.mgrid[:n, :n] / n
    wall = (abs(x - 0.25) < 0.01) & (abs(abs(y - 0.5) - 0.08) > 0.02)
    wave = stencil.System({
        "grid": {"size": [n, n], "dtype": "f32", "solid": wall},
        "time": {"dt": 0.5},
        "constants": {"period": n / 24},
        "stencils": {"laplace": {"derivative": "laplace", "order": 4}},
        "coefficients": {"lamp": x < 1.5 / n},
        "fields": {"p": {"start": 0, "walls": "value=0",
                         "next": "2*p - prev(p) + dt^2*laplace(p) + 0.1*lamp*sin(2*pi*t/period)"}},
        "sponge": {"width": n // 12, "sides": ["x+", "y-", "y+"]},
    })
    wave.step(int(2.1 * n))
    return wave.picture("p", colours="blue-red", range="-1:1")


def lens(n=360):
    """A plane wave that a round lens gathers: functions of coordinates say how fast it is where, and what comes."""

    def pulse(x, y, t):
        ahead = (x - t) / n - 0.1
        return np.cos(40 * np.pi * ahead) * np.exp(-(20 * ahead)**2) + 0 * y

    wave = stencil.System({
        "grid": {"size": [n * 2 // 3, n], "dtype": "f32"},
        "time": {"dt": 0.5},
        "stencils": {"laplace": {"derivative": "laplace", "order": 4}},
        "coefficients": {"c": lambda x, y: np.where((x - n / 3)**2 + (y - n / 3)**2 < (n / 5)**2, 0.6, 1.0)},
        "fields": {"p": {"start": pulse, "before": [pulse], "boundary": "y:reflect",
                         "next": "2*p - prev(p) + (dt*c)^2*laplace(p)"}},
        "sponge": {"width": n // 20, "sides": ["x-", "x+"]},
    })
    wave.step(int(1.25 * n))
    return wave.picture("p", colours="blue-red", range="-1:1")


def porous_rock(n=220):
    """A dye that seeps through rock: the rock is noise that `ndimage` has smoothed, the dye comes in from the left."""
    noise = np.random.default_rng(4).standard_normal((n, n))
    rock = ndimage.gaussian_filter(noise, 3, mode="wrap") > 0.02
    rock[:, : n // 20] = False
    dye = stencil.System({
        "grid": {"dtype": "f32", "solid": rock},
        "stencils": {"laplace": {"derivative": "laplace", "order": 2}},
        "fields": {"u": {"start": lambda x: x < 1, "keep": "x < 1", "next": "u + 0.24*laplace(u)", "boundary": "edge"}},
    })
    dye.step(60 * n)
    shown = stencil.Simulation("star2d1r", np.where(rock, -0.35, np.asarray(dye)).astype("f4"), boundary="edge")
    return shown.picture(colours="magma")


def spots_then_worms(n=256):
    """Gray-Scott's chemicals, whose parameters change on the way: spots first, and then worms grow out of them."""
    v = np.random.default_rng(1).random((n, n)) < 0.02
    seeds = ndimage.uniform_filter(v.astype("f4"), 5, mode="wrap") > 0.05
    cells = stencil.System("gray-scott", fields={"u": 1 - 0.5 * seeds, "v": 0.25 * seeds})
    cells.parameters = {"feed": 0.030, "kill": 0.062}
    cells.step(12 * n)
    cells.parameters = {"feed": 0.046, "kill": 0.063}
    cells["v"][:, : n // 2] = 0.0                       # and nothing is left in half of it
    cells.step(20 * n)
    return cells.picture("v", colours="magma")


GUN = """
........................O
......................O.O
............OO......OO............OO
...........O...O....OO............OO
OO........O.....O...OO
OO........O...O.OO....O.O
..........O.....O.......O
...........O...O
............OO
"""


def glider_gun(n=128):
    """Gosper's gun, read from a text into an array that the game of life begins with."""
    cells = np.zeros((n, n), "f4")
    for y, row in enumerate(GUN.split()):
        for x, cell in enumerate(row):
            cells[y + 2, x + 2] = cell == "O"
    life = stencil.System("life", fields={"alive": {"start": cells, "boundary": "zero"}}, size=(n, n))
    life.step(30 * (n // 10))
    larger = np.kron(life.field("alive"), np.ones((3, 3), "f4"))
    return stencil.Simulation("star2d1r", larger).picture(colours="grey")


def spirals(n=256):
    """Ginzburg and Landau's oscillators, two fields that are the parts of a complex number: its phase turns in spirals."""
    a, b = np.random.default_rng(2).standard_normal((2, n, n))
    field = "{one} + dt*({one} + laplace({one}) {sign} 2*laplace({other}) - (a^2 + b^2)*({one} {turn} 0.6*{other}))"
    sea = stencil.System({
        "grid": {"spacing": 1.0, "dtype": "f32"},
        "time": {"dt": 0.05},
        "stencils": {"laplace": {"derivative": "laplace", "order": 2}},
        "fields": {
            "a": {"start": 0.1 * a, "boundary": "periodic", "next": field.format(one="a", other="b", sign="-", turn="+")},
            "b": {"start": 0.1 * b, "boundary": "periodic", "next": field.format(one="b", other="a", sign="+", turn="-")},
        },
    })
    sea.step(16 * n)
    phase = np.arctan2(sea["b"], sea["a"])
    return stencil.Simulation("star2d1r", np.cos(phase)).picture(colours="viridis")


def mountains(n=256):
    """A landscape: noise that `gaussian_filter` smooths at six scales, lit from the left by a derivative of `sobel`."""
    random = np.random.default_rng(7)
    scales = [n / 8 / 2**octave for octave in range(6)]
    height = sum(scale**2.5 * ndimage.gaussian_filter(random.standard_normal((n, n)), scale, mode="wrap") for scale in scales)
    light = ndimage.sobel(height, axis=1, mode="wrap") / np.sqrt(1 + ndimage.gaussian_gradient_magnitude(height, 1, mode="wrap")**2)
    return stencil.Simulation("star2d1r", light.astype("f4")).picture(colours="grey")


def fingerprint(n=256):
    """Stripes that reaction and diffusion leave, here by `ndimage` alone: near values help, those further away hinder."""
    u = np.random.default_rng(3).standard_normal((n, n)).astype("f4")
    for _ in range(40):
        near, far = (ndimage.gaussian_filter(u, sigma, mode="wrap") for sigma in (2, 3.2))
        u = np.tanh(40 * (near - far))
    return stencil.Simulation("star2d1r", u).picture(colours="grey")


def brushed_steel(n=300):
    """Noise, and weights of one's own: a sum along one direction, step after step, by `Simulation`."""
    weights = np.zeros((3, 7))
    weights[1, 1:6] = [0.1, 0.2, 0.3, 0.2, 0.1]
    weights[0, 6] = weights[2, 0] = 0.05
    steel = stencil.Simulation(weights, np.random.default_rng(5).random((n * 2 // 3, n), "f4"), boundary="periodic")
    steel.step(25)
    return steel.picture(colours="grey")


ALL = [two_slits, lens, porous_rock, spots_then_worms, glider_gun, spirals, mountains, fingerprint, brushed_steel]


def page():
    """The page, of the functions as they stand here."""
    lines = [HEAD, "| picture | function, and what it shows |", "| --- | --- |"]
    for function in ALL:
        name = function.__name__
        text = " ".join(inspect.getdoc(function).split())
        lines.append(f"| ![{name}](../images/python-{name}.png) | `{name}`: {text} |")
    return "\n".join(lines) + "\n"


HEAD = """# Pictures made from Python

Each picture is what a function of [`python/examples/gallery.py`](../../python/examples/gallery.py) returned, with the engine `cpu`.
The functions have 10 to 20 lines each, and the tests call each with few points. `python python/examples/gallery.py docs` makes
pictures and page anew. Also: [Python](python.md), [systems of arrays](../tutorials/python.md), [built-in systems](gallery.md).
"""


def main():
    docs = pathlib.Path(sys.argv[1])
    for function in ALL:
        (docs / "images" / f"python-{function.__name__}.png").write_bytes(function())
        print(function.__name__, flush=True)
    (docs / "reference" / "python-gallery.md").write_text(page())


if __name__ == "__main__":
    main()
