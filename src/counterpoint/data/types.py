"""The array types used throughout the package."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Row = NDArray[np.float64]
"""One number per feature, or one number per row."""

Rows = NDArray[np.float64]
"""Instances: one row each, one entry per feature."""

Labels = NDArray[Any]
"""The model's outputs for rows: one entry per row, of any dtype; two-dimensional if it returns scores."""

Mask = NDArray[np.bool_]
"""Which rows, features or cells are meant."""

Indices = NDArray[np.intp]
"""Positions in an array."""
