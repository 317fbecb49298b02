"""How probable it is that an arm is chosen."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import _armwise, _html


@dataclass(frozen=True, eq=False)
class Inclusion:
    """The probabilities with which the arms of a round are chosen, over the draws of the round.

    >>> import armwise as aw, numpy as np
    >>> found = aw.ArmWiseTS(v=0.5).inclusion(np.eye(4), k=1)
    >>> found.method, found.probabilities.round(6).tolist()
    ('exact', [0.25, 0.25, 0.25, 0.25])
    >>> aw.RoundWiseTS(v=0.5).inclusion(np.eye(4), k=1, replicates=100).method
    'counted'
    """

    #: One for each arm, (N,) or with several blocks (N, M); 0 for an arm that may not be chosen.
    probabilities: NDArray[np.float64]
    #: "exact"; "critical-value" or "counted", from fresh rounds; "degenerate" where nothing is random.
    method: str
    #: The standard error of each, where they were sampled; None where they were not.
    standard_errors: NDArray[np.float64] | None
    #: From how many fresh rounds; 0 where nothing was sampled.
    replicates: int
    _laws: str = field(default="[]", repr=False)

    @property
    def laws(self) -> list[dict[str, Any]]:
        """The law of the threshold of each set of arms that compete, as JSON keeps it; empty unless exact."""
        return list(json.loads(self._laws))

    def probability(self, mean: float, width: float, block: int = 0, law: int = 0) -> float:
        """The probability of any arm of the round from its mean and width, by one of the laws.

        >>> import armwise as aw, numpy as np
        >>> policy = aw.ArmWiseTS(v=0.5)
        >>> found = policy.inclusion(np.eye(4), k=1)
        >>> round(found.probability(mean=0.0, width=1.0), 6)
        0.25
        """
        return _armwise.probability_by_law(json.dumps(self.laws[law]), block, mean, width)

    def __len__(self) -> int:
        return len(self.probabilities)

    def _repr_html_(self) -> str:
        title = f"Inclusion(arms={len(self)}, method={self.method!r})"
        columns = {"probability": self.probabilities}
        if self.standard_errors is not None:
            columns["standard_error"] = self.standard_errors
        return _html.columns(title, columns)
