"""Policies from files."""

from __future__ import annotations

import json
import os
from typing import Any

from . import _armwise
from .policies import ALGORITHMS
from .policy import Policy, Theory


def _from_spec(text: str) -> Policy:
    spec: dict[str, Any] = json.loads(text)
    name = spec.pop("name")
    if name == "own":
        raise ValueError("the file holds a policy of your own; make it and call its restore(path)")
    if name not in ALGORITHMS:
        raise ValueError(f"algorithm {name!r} is unknown; it must be one of {', '.join(ALGORITHMS)}")
    made = ALGORITHMS[name]
    is_theory = {key: isinstance(value, dict) and key not in made._switches for key, value in spec.items()}
    params = {
        "lam" if key == "lambda" else key: Theory(**value) if is_theory[key] else value for key, value in spec.items()
    }
    return made(**params)


def load(path: str | os.PathLike[str]) -> Policy:
    """Loads a policy that `save` or Rust wrote; it chooses the same to the bit.

    A file written by Rust has no seed and no next round; then the seed is 0 and the next round is the one after the
    newest that was learned from. Set `seed` and `t_` if that is not what you want.

    >>> import armwise as aw, tempfile, os
    >>> path = os.path.join(tempfile.mkdtemp(), "p.json")
    >>> aw.C2UCB(alpha=0.5).partial_fit([[1.0]], [1.0]).save(path)
    >>> aw.load(path).theta_
    array([0.5])
    """
    with open(path, encoding="utf-8") as file:
        return parse(file.read())


def parse(text: str) -> Policy:
    """The policy of a saved text."""
    learner, next_ = _armwise.Learner.from_json(text)
    policy = _from_spec(learner.policy)
    policy.ties = learner.ties
    policy._adopt(learner, next_)
    return policy
