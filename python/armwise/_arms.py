"""Converts the arms of a round, in any form a user has, to arrays that the native half can borrow.

An array that is C-contiguous and float32 or float64 is never copied; any other is converted,
or refused with the reason. Tables are read in `_tables.py`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _armwise, _tables
from ._values import numbers

FLOAT32, FLOAT64 = np.dtype(np.float32), np.dtype(np.float64)


class Arms(NamedTuple):
    """What the native half takes, and what the numbers of columns of strings mean."""

    x: NDArray[Any] | _armwise.Rows
    ids: NDArray[np.uint64] | _armwise.Names | None = None
    eligible: NDArray[np.bool_] | None = None
    columns: list[tuple[str, NDArray[np.float64]]] = []  # noqa: RUF012
    labels: dict[str, list[str]] = {}  # noqa: RUF012
    #: The names of the features, where X is a table that has them.
    names: list[str] | None = None


def matrix(x: ArrayLike, what: str = "X") -> NDArray[Any]:
    """X as a C-contiguous float32 or float64 matrix; no copy where it is one already."""
    if type(x) is np.ndarray and x.ndim == 2 and (x.dtype is FLOAT64 or x.dtype is FLOAT32):
        flags = x.flags
        if flags.c_contiguous and flags.aligned:
            return x
    array = numbers(x, what)
    if array.ndim != 2:
        raise ValueError(f"{what} must have 2 dimensions (arms and features), found {array.ndim}")
    if array.dtype not in (np.float32, np.float64):
        array = array.astype(np.float32 if array.dtype == np.float16 else np.float64)
    return np.require(array, requirements=["C", "A"])


def vector(values: ArrayLike, what: str) -> NDArray[np.float64]:
    """Numbers as a contiguous vector of float64."""
    array = _tables.values_of(values, what)
    if array.ndim != 1:
        raise ValueError(f"{what} must have 1 dimension, found {array.ndim}")
    return np.ascontiguousarray(numbers(array, what), dtype=np.float64)


def attached(
    columns: Mapping[str, Any], x: Any = None
) -> tuple[list[tuple[str, NDArray[np.float64]]], dict[str, list[str]]]:
    """Columns as numbers, and what the numbers of those of strings mean."""
    read = {name: _tables.column(same_index(x, values, f"column {name!r}"), name) for name, values in columns.items()}
    labels = {name: labels for name, (_, labels) in read.items() if labels is not None}
    return [(name, values) for name, (values, _) in read.items()], labels


def same_index(x: Any, values: Any, what: str) -> Any:
    """The values, refused if they are a pandas series whose index is not that of the frame X."""
    if _tables.is_series(values) and _tables.is_frame(x) and not x.index.equals(values.index):
        raise ValueError(
            f"{what} and X have different indexes: align them, .reindex(X.index), "
            "or give .to_numpy() if they belong together row by row"
        )
    return values


def arms(
    x: Any,
    *,
    features: Sequence[str] | str | None = None,
    ids: Any = None,
    eligible: Any = None,
    columns: Mapping[str, ArrayLike] | Sequence[str] | None = None,
    needed: Sequence[str] = (),
    known: list[str] | None = None,
) -> Arms:
    """The arms from an array or a table; `needed` are the columns that the constraint names, `known` the names that the
    features of the policy have."""
    if type(x) is np.ndarray and features is None and columns is None and ids is None and eligible is None:
        return Arms(matrix(x))
    given: Any = {} if columns is None else columns
    table = None if type(x) is np.ndarray else _tables.table(x)
    if table is None:
        if features is not None:
            raise TypeError("features=[...] names columns of a table, but X is not a table")
        if not isinstance(given, Mapping):
            raise TypeError("columns must be a dictionary of arrays where X is not a table")
        for what, value in (("ids", ids), ("eligible", eligible)):
            if isinstance(value, str):
                raise TypeError(f"{what}={value!r} names a column of a table, but X is not a table")
        return Arms(matrix(x), _tables.keys(ids), _flags(eligible), *attached(given))
    mapped = given if isinstance(given, Mapping) else {}
    wanted = [] if isinstance(given, Mapping) else [given] if isinstance(given, str) else list(given)
    wanted += [name for name in needed if name not in wanted and name not in mapped]
    taken = {name for name in (ids, eligible) if isinstance(name, str)} | set(wanted)
    chosen = [features] if isinstance(features, str) else features
    picked = _tables.features_of(table.names, chosen, taken, known)
    read = table.rows(picked)
    named = all(isinstance(name, str) for name in picked) and read.shape[1] == len(picked)
    own, labels = attached(mapped, x)
    for name in wanted:
        values, meant = table.column(name)
        own.append((name, values))
        if meant is not None:
            labels[name] = meant
    return Arms(
        read,
        table.ids(ids) if isinstance(ids, str) else _tables.keys(same_index(x, ids, "ids")),
        table.flags(eligible) if isinstance(eligible, str) else _flags(same_index(x, eligible, "eligible")),
        own,
        labels,
        picked if named else None,
    )


def _flags(eligible: Any) -> NDArray[np.bool_] | None:
    return None if eligible is None else _tables.flags(eligible)
