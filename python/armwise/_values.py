"""Checks of single values and of arrays, as a user gives them. Nothing is rounded, parsed or filled silently."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
from numpy.typing import NDArray

#: The largest seed.
MOST_SEED = 2**64 - 1


def whole(value: Any, what: str, least: int = 0, most: int | None = None) -> int:
    """A whole number within its range; 2.7, "2" and True are none."""
    try:
        if isinstance(value, bool | np.bool_):
            raise TypeError
        number = operator.index(value)
    except TypeError:
        raise TypeError(f"{what} = {value!r}: must be a whole number") from None
    if number < least:
        raise ValueError(f"{what} = {number}: must be at least {least}")
    if most is not None and number > most:
        raise ValueError(f"{what} = {number}: must be at most {most}")
    return number


def real(value: Any, what: str) -> float:
    """A number; texts, flags and complex numbers are none."""
    if isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool):
        return float(value)
    if isinstance(value, np.ndarray) and value.ndim == 0 and value.dtype.kind in "fiu":
        return float(value)
    raise TypeError(f"{what} = {value!r}: must be a number")


def finite(value: Any, what: str) -> float:
    """A number that is neither NaN nor infinite."""
    number = real(value, what)
    if not np.isfinite(number):
        raise ValueError(f"{what} = {number}: must be a finite number")
    return number


def array(values: Any, what: str) -> NDArray[Any]:
    """Anything that numpy reads as an array, unless something would be lost or misread."""
    if type(values) is np.ndarray:
        return values
    if isinstance(values, np.ma.MaskedArray) and np.ma.is_masked(values):
        raise TypeError(f"{what} has masked values: fill them, .filled(value), or leave their rows out")
    kind = type(values)
    if kind.__name__ == "LazyFrame":
        raise TypeError(f"{what} is a LazyFrame, which holds no rows yet: call .collect() first")
    if kind.__module__.split(".")[0] == "scipy":
        raise TypeError(f"{what} is a sparse {kind.__name__}: give .toarray()")
    read = np.asarray(values)
    if read.ndim == 0 and read.dtype == object:
        raise TypeError(f"{what} is a {kind.__name__}: must be an array, or a table that exports Arrow")
    return read


def numbers(values: Any, what: str) -> NDArray[Any]:
    """An array of numbers."""
    read = array(values, what)
    if read.dtype.kind not in "fiub" and read.size > 0:
        hint = "; convert it first, .astype(float)" if read.dtype == object else ""
        raise TypeError(f"{what} is of dtype {read.dtype}: must be numbers{hint}")
    return read
