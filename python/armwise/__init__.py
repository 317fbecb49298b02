"""armwise chooses the best set of arms under constraints, sees a reward for each chosen arm, and learns.

The algorithms are those of Takemura and Ito, "An Arm-Wise Randomization Approach to Combinatorial Linear
Semi-Bandits". A policy chooses, the world pays, the policy learns:

>>> import armwise as aw, numpy as np
>>> X = np.array([[1.0, 0.0], [0.9, 0.1], [0.1, 0.9], [0.0, 1.0]])    # four customers, two features each
>>> policy = aw.ArmWiseTS(lam=1.0, v=0.1, seed=42)
>>> for week in range(10):
...     d = policy.choose(X, k=2)                                     # two of them get the promotion
...     policy.learn(d, X[d.rows, 1])                                 # the second feature makes a customer buy
>>> sorted(policy.choose(X, k=2).ids.tolist())
[2, 3]

Names are those of the paper, of the TOML and of the JSON files; only `lambda`, a keyword of Python, is `lam` here.
The same seed, arms and rewards give the same bits as in Rust, whatever the number of threads and the order of rows.
"""

from . import lab, policies
from ._answers import RewardedArm, RewardsAnswer, ServedArm, ServedDecision, ServiceError
from ._armwise import Context, InfeasibleError, __version__
from ._async_client import AsyncClient, AsyncServedCampaign
from ._client import Client, ServedCampaign
from ._threads import _from_environment, set_threads, threads
from .campaign import (
    Campaign,
    CampaignError,
    ConflictError,
    InputError,
    LockedError,
    NotFoundError,
    StorageError,
)
from .catalogue import Catalogue
from .constraints import (
    Assignment,
    Budget,
    Constraint,
    Explicit,
    Group,
    Linear,
    LinearRow,
    Quota,
    Quotas,
    Term,
    TopK,
)
from .decision import ChosenArm, Decision
from .evaluation import Evaluation, evaluate
from .inclusion import Inclusion
from .loading import load
from .policies import *  # noqa: F403
from .policy import Policy, Theory
from .solving import Selection, solve

_from_environment()

__all__ = [
    "Assignment",
    "AsyncClient",
    "AsyncServedCampaign",
    "Budget",
    "Campaign",
    "CampaignError",
    "Catalogue",
    "ChosenArm",
    "Client",
    "ConflictError",
    "Constraint",
    "Context",
    "Decision",
    "Evaluation",
    "Explicit",
    "Group",
    "Inclusion",
    "InfeasibleError",
    "InputError",
    "Linear",
    "LinearRow",
    "LockedError",
    "NotFoundError",
    "Policy",
    "Quota",
    "Quotas",
    "RewardedArm",
    "RewardsAnswer",
    "Selection",
    "ServedArm",
    "ServedCampaign",
    "ServedDecision",
    "ServiceError",
    "StorageError",
    "Term",
    "Theory",
    "TopK",
    "__version__",
    "evaluate",
    "lab",
    "load",
    "set_threads",
    "solve",
    "threads",
]
# The classes of the algorithms, which are made from the library's list of them.
__all__ += policies.__all__
