"""Converts the arms of a round, in any form a user has, to arrays that the native half can borrow.

An array that is C-contiguous and float32 or float64 is never copied; any other is converted,
or refused with the reason. Tables are anything with the Arrow PyCapsule interface.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _armwise

FLOAT32, FLOAT64 = np.dtype(np.float32), np.dtype(np.float64)


class Arms(NamedTuple):
    """What the native half takes."""

    x: NDArray[Any]
    ids: NDArray[np.uint64] | _armwise.Names | None
    eligible: NDArray[np.bool_] | None
    columns: list[tuple[str, NDArray[np.float64]]]


def is_table(x: object) -> bool:
    """Whether x is a table: anything that exports an Arrow stream."""
    return hasattr(x, "__arrow_c_stream__")


def matrix(x: ArrayLike, what: str = "X") -> NDArray[Any]:
    """X as a C-contiguous float32 or float64 matrix; no copy where it is one already."""
    if type(x) is np.ndarray and x.ndim == 2 and (x.dtype is FLOAT64 or x.dtype is FLOAT32):
        flags = x.flags
        if flags.c_contiguous and flags.aligned:
            return x
    array = np.asarray(x)
    if array.ndim != 2:
        raise ValueError(f"{what} must have 2 dimensions (arms and features), found {array.ndim}")
    if array.dtype.kind not in "fiub":
        raise TypeError(f"{what} is of dtype {array.dtype}: must be numbers, best float32 or float64")
    if array.dtype not in (np.float32, np.float64):
        array = array.astype(np.float32 if array.dtype == np.float16 else np.float64)
    return np.require(array, requirements=["C", "A"])


def vector(values: ArrayLike, what: str) -> NDArray[np.float64]:
    """Numbers as a contiguous vector of float64."""
    array = np.asarray(values)
    if array.ndim != 1:
        raise ValueError(f"{what} must have 1 dimension, found {array.ndim}")
    if array.dtype.kind not in "fiub" and array.size > 0:
        raise TypeError(f"{what} are of dtype {array.dtype}: must be numbers")
    return np.ascontiguousarray(array, dtype=np.float64)


def column(values: ArrayLike, name: str) -> NDArray[np.float64]:
    """A column of numbers: one per arm, or one per arm and block."""
    array = np.asarray(values)
    if array.dtype.kind not in "fiub":
        raise TypeError(f"column {name!r} is of dtype {array.dtype}: must be numbers")
    return np.ascontiguousarray(array, dtype=np.float64)


def keys(ids: ArrayLike | _armwise.Names | None) -> NDArray[np.uint64] | _armwise.Names | None:
    """Ids as uint64, or names; no copy of uint64 and int64."""
    if ids is None or isinstance(ids, _armwise.Names):
        return ids
    array = np.asarray(ids)
    if array.ndim != 1:
        raise ValueError(f"ids must have 1 dimension, found {array.ndim}")
    if array.dtype.kind == "u":
        return np.ascontiguousarray(array, dtype=np.uint64)
    if array.dtype.kind == "i":
        if array.size and array.min() < 0:
            row = int(np.flatnonzero(array < 0)[0])
            raise ValueError(f"id at row {row} is {array[row]}: must not be negative")
        return np.ascontiguousarray(array, dtype=np.int64).view(np.uint64)
    names = array.tolist()
    if array.dtype.kind in "UTO" and all(isinstance(name, str) for name in names):
        return _armwise.Names(names)
    raise TypeError(f"ids are of dtype {array.dtype}: must be integers or strings")


def flags(eligible: ArrayLike | None) -> NDArray[np.bool_] | None:
    """Eligibility: one flag per arm, or one per arm and block."""
    if eligible is None:
        return None
    array = np.asarray(eligible)
    if array.dtype != np.bool_:
        raise TypeError(f"eligible is of dtype {array.dtype}: must be bool")
    return np.ascontiguousarray(array)


def arms(
    x: Any,
    *,
    features: Sequence[str] | str | None = None,
    ids: Any = None,
    eligible: Any = None,
    columns: Mapping[str, ArrayLike] | Sequence[str] | None = None,
    needed: Sequence[str] = (),
) -> Arms:
    """The arms from an array or a table; `needed` are the columns that the constraint names."""
    if type(x) is np.ndarray and features is None and columns is None and ids is None and eligible is None:
        return Arms(matrix(x), None, None, [])
    given = {} if columns is None else columns
    if not is_table(x):
        if features is not None:
            raise TypeError("features=[...] names columns of a table, but X is not a table")
        if not isinstance(given, Mapping):
            raise TypeError("columns must be a dictionary of arrays where X is not a table")
        for what, value in (("ids", ids), ("eligible", eligible)):
            if isinstance(value, str):
                raise TypeError(f"{what}={value!r} names a column of a table, but X is not a table")
        attached = [(name, column(values, name)) for name, values in given.items()]
        return Arms(matrix(x), keys(ids), flags(eligible), attached)
    names = [features] if isinstance(features, str) else None if features is None else list(features)
    wanted = [] if isinstance(given, Mapping) else list(given)
    wanted += [name for name in needed if name not in wanted and name not in given]
    ids_name = ids if isinstance(ids, str) else None
    eligible_name = eligible if isinstance(eligible, str) else None
    read, read_ids, read_flags, attached_by_name = _armwise.read_table(x, names, ids_name, eligible_name, wanted)
    attached = list(attached_by_name.items())
    if isinstance(given, Mapping):
        attached += [(name, column(values, name)) for name, values in given.items()]
    return Arms(
        read,
        read_ids if ids_name is not None else keys(ids),
        read_flags if eligible_name is not None else flags(eligible),
        attached,
    )
