"""Sparse features: scipy's matrices and arrays, whose rows the native half makes dense a part at a time."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray


class Csr(NamedTuple):
    """What the native half takes of a CSR matrix: its three arrays, and the number of columns."""

    data: NDArray[Any]
    indices: NDArray[Any]
    indptr: NDArray[Any]
    dim: int


def is_sparse(x: object) -> bool:
    """Whether x is one of scipy's sparse matrices or arrays; scipy itself is not needed to tell."""
    return type(x).__module__.split(".")[:2] == ["scipy", "sparse"]


def csr(x: Any) -> Csr:
    """The three arrays in types that the native half borrows; no copy of CSR in float32 or float64."""
    if x.ndim != 2:
        raise ValueError(f"X must have 2 dimensions (arms and features), found {x.ndim}")
    rows = x.tocsr()
    if rows.dtype.kind not in "fiub":
        raise TypeError(f"X is of dtype {rows.dtype}: must be numbers, best float32 or float64")
    wide = np.float32 if rows.dtype in (np.float32, np.float16) else np.float64
    places = np.int32 if rows.indices.dtype == rows.indptr.dtype == np.int32 else np.int64
    return Csr(
        np.ascontiguousarray(rows.data, dtype=wide),
        np.ascontiguousarray(rows.indices, dtype=places),
        np.ascontiguousarray(rows.indptr, dtype=places),
        int(rows.shape[1]),
    )
