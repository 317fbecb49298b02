"""How many threads compute. No result depends on it."""

from __future__ import annotations

import os

from . import _armwise, _values

#: The variable that sets the number of threads when the package is imported.
VARIABLE = "ARMWISE_THREADS"


def set_threads(n: int) -> None:
    """Lets at most n threads work at once on what begins from now on: choosing, learning, campaigns, the lab.

    Unless it is called, there are as many as processors, or as many as the environment variable ARMWISE_THREADS says
    when the package is imported. A number above that of the processors changes nothing. A forked process uses one
    thread.

    >>> import armwise as aw
    >>> aw.set_threads(1)
    >>> aw.threads()
    1
    """
    _armwise.set_threads(_values.whole(n, "n", least=1))


def threads() -> int:
    """How many threads may work at once."""
    return _armwise.threads()


def _from_environment() -> None:
    given = os.environ.get(VARIABLE, "")
    if given:
        if not given.isdecimal() or int(given) < 1:
            raise ValueError(f"{VARIABLE}={given!r}: must be a whole number of at least 1")
        _armwise.set_threads(int(given))
