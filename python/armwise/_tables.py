"""Tables: which columns are features, and how columns of pandas frames and of dictionaries are read.

Tables of other libraries are read by the native half, from their Arrow stream. A pandas frame is read column by column
instead: its Arrow stream would copy, and needs pyarrow. The index of a frame is never a feature.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from . import _armwise
from ._values import array

#: A column, and the list that says what its numbers mean where it holds strings.
Column = tuple[NDArray[np.float64], list[str] | None]


class Table(Protocol):
    """What a table can be asked for."""

    @property
    def names(self) -> list[Any]: ...
    def rows(self, features: list[Any]) -> NDArray[Any] | _armwise.Rows: ...
    def ids(self, name: str) -> Any: ...
    def flags(self, name: str) -> NDArray[np.bool_]: ...
    def column(self, name: str) -> Column: ...


def pandas() -> Any:
    """pandas, if this program uses it."""
    return sys.modules.get("pandas")


def is_frame(x: object) -> bool:
    """Whether x is a pandas frame."""
    return pandas() is not None and isinstance(x, pandas().DataFrame)


def is_series(x: object) -> bool:
    """Whether x is a pandas series."""
    return pandas() is not None and isinstance(x, pandas().Series)


def table(x: object) -> Table | None:
    """X as a table: a pandas frame, a dictionary of columns, or anything that exports an Arrow stream."""
    if is_frame(x):
        return _Frame(x)
    if isinstance(x, Mapping):
        return _Columns(x)
    if hasattr(x, "__arrow_c_stream__"):
        return _armwise.Table(x)
    return None


class _Columns:
    """Columns by name, each an array."""

    def __init__(self, columns: Mapping[Any, Any]) -> None:
        self._columns = columns

    @property
    def names(self) -> list[Any]:
        return list(self._columns)

    def _of(self, name: Any) -> Any:
        if name not in self._columns:
            raise KeyError(f"the table has no column {quoted(name)}; it has {', '.join(map(str, self.names))}")
        return self._columns[name]

    def rows(self, features: list[Any]) -> NDArray[Any] | _armwise.Rows:
        return _armwise.Rows([self._feature(name) for name in features])

    def _feature(self, name: Any) -> NDArray[Any]:
        values = numeric(self._of(name), f"column {quoted(name)}", "features must be numbers; encode or cast it, or ")
        return values if values.dtype in (np.float32, np.float64) else values.astype(np.float64)

    def ids(self, name: str) -> Any:
        return keys(self._of(name), f"ids of column {quoted(name)}")

    def flags(self, name: str) -> NDArray[np.bool_]:
        return flags(self._of(name), f"column {quoted(name)}")

    def column(self, name: str) -> Column:
        return column(self._of(name), name)


class _Frame(_Columns):
    """A pandas frame."""

    def __init__(self, frame: Any) -> None:
        self._frame = frame

    @property
    def names(self) -> list[Any]:
        return list(self._frame.columns)

    def _of(self, name: Any) -> Any:
        if name in self._frame.columns:
            found = self._frame[name]
            if found.ndim != 1:
                raise ValueError(f"the table has several columns {quoted(name)}")
            return found
        if name is not None and name in self._frame.index.names:
            return self._frame.index.get_level_values(name).to_series()
        raise KeyError(f"the table has no column {quoted(name)}; it has {', '.join(map(str, self.names))}")

    def rows(self, features: list[Any]) -> NDArray[Any] | _armwise.Rows:
        if features == self.names:
            whole = self._frame.to_numpy(copy=False) if len(set(self._frame.dtypes)) == 1 else None
            if isinstance(whole, np.ndarray) and whole.flags.c_contiguous and whole.dtype in (np.float32, np.float64):
                return whole
        return super().rows(features)


def quoted(name: Any) -> str:
    """A name in double quotes, as the library writes it."""
    return f'"{name}"' if isinstance(name, str) else repr(name)


def values_of(given: Any, what: str) -> NDArray[Any]:
    """A vector as an array; of pandas' own types, numbers with NaN for what is missing."""
    if is_series(given) and not isinstance(given.dtype, np.dtype):
        kinds = pandas().api.types
        if kinds.is_integer_dtype(given.dtype) and not given.hasnans:
            signed = kinds.is_signed_integer_dtype(given.dtype)
            return np.asarray(given.to_numpy(dtype=np.int64 if signed else np.uint64))
        if kinds.is_bool_dtype(given.dtype) and not given.hasnans:
            return np.asarray(given.to_numpy(dtype=np.bool_))
        if kinds.is_numeric_dtype(given.dtype):
            return np.asarray(given.to_numpy(dtype=np.float64, na_value=np.nan))
        return np.asarray(given, dtype=object)
    return array(given, what)


def numeric(given: Any, what: str, must: str = "must be numbers; ") -> NDArray[Any]:
    """A vector of numbers."""
    values = values_of(given, what)
    if values.ndim != 1:
        raise ValueError(f"{what} must have 1 dimension, found {values.ndim}")
    if values.dtype.kind not in "fiub" and values.size > 0:
        hint = "name the feature columns with features=[...]" if "features" in must else "convert it first"
        raise TypeError(f"{what} is of type {values.dtype}: {must}{hint}")
    return values


def keys(ids: Any, what: str = "ids") -> NDArray[np.uint64] | _armwise.Names | None:
    """Ids as uint64, or names; no copy of uint64 and int64. UUIDs are named by their text."""
    if ids is None or isinstance(ids, _armwise.Names):
        return ids
    values = values_of(ids, what)
    if values.ndim != 1:
        raise ValueError(f"{what} must have 1 dimension, found {values.ndim}")
    if values.dtype.kind == "u":
        return np.ascontiguousarray(values, dtype=np.uint64)
    if values.dtype.kind == "i":
        if values.size and values.min() < 0:
            row = int(np.flatnonzero(values < 0)[0])
            name = what.removeprefix("ids")
            text = f"id at row {row}{name} is {values[row]}: must not be negative; give such ids as strings"
            raise ValueError(text)
        return np.ascontiguousarray(values, dtype=np.int64).view(np.uint64)
    names = values.tolist()
    if values.dtype.kind in "UTO":
        if all(isinstance(name, str) for name in names):
            return _armwise.Names(names)
        if names and all(type(name).__name__ == "UUID" for name in names):
            return _armwise.Names([str(name) for name in names])
        for row, name in enumerate(names):
            if name is None or name != name:
                raise ValueError(f"id at row {row}{what.removeprefix('ids')} is missing")
    raise TypeError(f"{what} are of dtype {values.dtype}: ids must be integers or strings; convert them, .astype(str)")


def flags(eligible: Any, what: str = "eligible") -> NDArray[np.bool_]:
    """One flag per arm, or one per arm and block. A missing flag of a table counts as false."""
    if is_series(eligible) and pandas().api.types.is_bool_dtype(eligible.dtype):
        return np.ascontiguousarray(eligible.fillna(False).to_numpy(dtype=np.bool_))
    values = array(eligible, what)
    if values.dtype != np.bool_:
        raise TypeError(f"{what} is of dtype {values.dtype}: must be bool, true or false")
    return np.ascontiguousarray(values)


def column(given: Any, name: str) -> Column:
    """A column that a constraint refers to: numbers, one per arm or one per arm and block; or strings."""
    values = values_of(given, f"column {name!r}")
    if values.dtype.kind in "UTO" and all(isinstance(value, str) for value in values.ravel().tolist()):
        labels, codes = np.unique(values.astype(str), return_inverse=True)
        return np.ascontiguousarray(codes.reshape(values.shape), dtype=np.float64), labels.tolist()
    if values.dtype.kind not in "fiub":
        raise TypeError(f"column {name!r} is of dtype {values.dtype}: must be numbers or strings")
    return np.ascontiguousarray(values, dtype=np.float64), None


def features_of(
    names: Sequence[Any], chosen: Sequence[Any] | None, taken: set[Any], known: list[str] | None
) -> list[Any]:
    """The feature columns of a table: those chosen, or all that are not used otherwise; in the order of the known
    names, which they must fit."""
    picked = [name for name in names if name not in taken] if chosen is None else list(chosen)
    twice = next((name for place, name in enumerate(picked) if name in picked[:place]), None)
    if twice is not None:
        raise ValueError(f"column {quoted(twice)} appears twice among the features")
    if not picked:
        raise ValueError("no columns are left for features; name them with features=[...]")
    if known is None or not all(isinstance(name, str) for name in picked):
        return picked
    # The wording is scikit-learn's.
    unseen = sorted(set(picked) - set(known))
    missing = sorted(set(known) - set(picked))
    text = "The feature names should match those that were passed during fit.\n"
    if unseen:
        text += "Feature names unseen at fit time:\n" + "".join(f"- {name}\n" for name in unseen)
    if missing:
        text += "Feature names seen at fit time, yet now missing:\n" + "".join(f"- {name}\n" for name in missing)
    if unseen or missing:
        raise ValueError(text)
    return list(known)
