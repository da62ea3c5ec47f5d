# SPDX-License-Identifier: MIT OR Apache-2.0
"""With `STENCIL_LIBRARY=FILE` the package is that of this folder with the library that cargo built, without a wheel."""

import importlib.util
import os
import pathlib
import sys

if built := os.environ.get("STENCIL_LIBRARY"):
    sys.path.insert(0, str(pathlib.Path(__file__).parent.parent))
    spec = importlib.util.spec_from_file_location("stencil._stencil", built)
    module = importlib.util.module_from_spec(spec)
    sys.modules["stencil._stencil"] = module
    spec.loader.exec_module(module)
