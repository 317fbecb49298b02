"""The Open Bandit sample that comes with the package obp: the same point estimates as OBP's own estimators.

ARMWISE_OBP is the folder of an unpacked wheel of obp (`make python` fetches it). OBP's estimators import torch and
scikit-learn for things that are not used here; both are stood in for by empty modules, so nothing of that size is
installed. Data and estimators are read from the wheel; nothing of it is in this repository.
"""

import importlib
import os
import sys
import types
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import armwise as aw

WHEEL = os.environ.get("ARMWISE_OBP")
pytestmark = pytest.mark.skipif(WHEEL is None, reason="ARMWISE_OBP is not set: obp is not at hand")
POSITIONS = 3


@pytest.fixture(scope="module")
def estimators() -> Any:
    """obp.ope.estimators without obp's own imports."""
    root = Path(str(WHEEL)) / "obp"
    torch: Any = types.ModuleType("torch")
    torch.Tensor = type("Tensor", (), {})
    sklearn: Any = types.ModuleType("sklearn")
    utils: Any = types.ModuleType("sklearn.utils")
    utils.check_random_state = np.random.RandomState
    before = dict(sys.modules)
    sys.modules |= {"torch": torch, "sklearn": sklearn, "sklearn.utils": utils}
    for name in ("obp", "obp.ope"):
        package: Any = types.ModuleType(name)
        package.__path__ = [str(root / name.removeprefix("obp").removeprefix("."))]
        sys.modules[name] = package
    module = importlib.import_module("obp.ope.estimators")
    # At once, so that no other test meets the stand-ins in place of the real packages.
    for name in [name for name in sys.modules if name.partition(".")[0] in ("obp", "torch", "sklearn")]:
        del sys.modules[name]
    sys.modules.update(before)
    return module


def feedback(policy: str, campaign: str) -> dict[str, Any]:
    """A log as OBP reads it: actions by their id, positions from 0."""
    folder = Path(str(WHEEL)) / "obp" / "dataset" / "obd" / policy / campaign
    log = pd.read_csv(folder / f"{campaign}.csv", index_col=0).sort_values("timestamp")
    action = log["item_id"].to_numpy()
    return {
        "n_rounds": len(log),
        "n_actions": int(action.max()) + 1,
        "action": action,
        "position": log["position"].rank(method="dense").to_numpy().astype(int) - 1,
        "reward": log["click"].to_numpy(),
        "pscore": log["propensity_score"].to_numpy(),
    }


def bts(campaign: str, actions: int, draws: int = 40_000) -> np.ndarray[Any, np.dtype[np.float64]]:
    """The probabilities of Bernoulli Thompson sampling with the experiment's prior: which item is at which place."""
    prior: dict[str, list[float]] = {}
    own = False
    for line in (Path(str(WHEEL)) / "obp" / "policy" / "conf" / "prior_bts.yaml").read_text().splitlines():
        if not line.startswith(" "):
            own = line == f"{campaign}:"
        elif own and line.strip().endswith(":"):
            prior[line.strip(" :")] = values = []
        elif own:
            values.append(float(line.strip(" -")))
    theta = np.random.default_rng(1).beta(prior["alpha"], prior["beta"], size=(draws, actions))
    best = np.argsort(-theta, axis=1)[:, :POSITIONS]
    return np.stack([np.bincount(best[:, place], minlength=actions) / draws for place in range(POSITIONS)], axis=1)


@pytest.mark.parametrize("campaign", ["men", "women"])
@pytest.mark.parametrize("policy", ["random", "bts"])
def test_point_estimates_are_those_of_obp(estimators: Any, policy: str, campaign: str) -> None:
    log = feedback(policy, campaign)
    rounds, actions = log["n_rounds"], log["n_actions"]
    dist = np.tile(bts(campaign, actions), (rounds, 1, 1))
    draws = np.random.default_rng(5)
    model = draws.random((rounds, actions, POSITIONS)) * 0.02
    found = aw.evaluate(log, dist, estimated_rewards=model)
    given = {"reward": log["reward"], "action": log["action"], "position": log["position"], "action_dist": dist}
    theirs = {
        "ips": estimators.InverseProbabilityWeighting().estimate_policy_value(pscore=log["pscore"], **given),
        "snips": estimators.SelfNormalizedInverseProbabilityWeighting().estimate_policy_value(
            pscore=log["pscore"], **given
        ),
        "dm": estimators.DirectMethod().estimate_policy_value(
            action_dist=dist, estimated_rewards_by_reg_model=model, position=log["position"]
        ),
        "dr": estimators.DoublyRobust().estimate_policy_value(
            pscore=log["pscore"], estimated_rewards_by_reg_model=model, **given
        ),
    }
    for name, value in theirs.items():
        assert found[name]["value"] == pytest.approx(value, abs=1e-9), name


@pytest.mark.parametrize("campaign", ["men", "women"])
def test_bts_from_the_random_log_beside_what_bts_earned(campaign: str) -> None:
    random, own = feedback("random", campaign), feedback("bts", campaign)
    dist = np.tile(bts(campaign, random["n_actions"]), (random["n_rounds"], 1, 1))
    found = aw.evaluate(random, dist)
    truth, se = own["reward"].mean(), own["reward"].std() / np.sqrt(own["n_rounds"])
    ips = found["ips"]
    print(
        f"{campaign}: bts earned {truth:.5f} (se {se:.5f}); from the random log {ips['value']:.5f}, "
        f"{ips['low']:.5f} to {ips['high']:.5f}; {found.effective:.0f} of {random['n_rounds']} rows tell as much"
    )
    # Both are means of some 40 clicks in 10,000 rows: within four standard errors of their difference.
    assert abs(ips["value"] - truth) < 4 * np.hypot(ips["se"], se)
