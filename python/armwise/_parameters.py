"""Parameters as in scikit-learn's estimators: attributes that are read and set by their names."""

from __future__ import annotations

import functools
import inspect
from typing import Any, TypeVar

Self = TypeVar("Self", bound="Parameters")


class Parameters:
    """The base of what has parameters: those that the constructor names."""

    # Whether the objects made from the parameters are still up to date.
    _current: bool = False

    def __setattr__(self, name: str, value: Any) -> None:
        object.__setattr__(self, name, value)
        if not name.startswith("_") and not name.endswith("_"):
            object.__setattr__(self, "_current", False)

    def _check(self) -> None:
        """Raises if a parameter is outside its range."""

    @classmethod
    @functools.cache
    def _parameters(cls) -> tuple[str, ...]:
        return tuple(name for name in inspect.signature(cls.__init__).parameters if name != "self")

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters, as scikit-learn's estimators give them.

        >>> import armwise as aw
        >>> aw.Greedy(lam=2.0).get_params()
        {'lam': 2.0, 'blocks': 1, 'seed': 0, 'ties': 'by-id', 'gamma': 1.0}
        """
        return {name: getattr(self, name) for name in self._parameters()}

    def set_params(self: Self, **params: Any) -> Self:
        """Changes parameters; what was learned stays."""
        known = self._parameters()
        for name in params:
            if name not in known:
                raise ValueError(f"{type(self).__name__} has no parameter {name!r}; it has {', '.join(known)}")
        before = {name: getattr(self, name) for name in params}
        for name, value in params.items():
            setattr(self, name, value)
        try:
            self._check()
        except BaseException:
            for name, value in before.items():
                setattr(self, name, value)
            raise
        return self

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{n}={v!r}' for n, v in self.get_params(deep=False).items())})"
