"""Every constraint from Python, against brute force, with policies and alone; functions as oracles."""

from __future__ import annotations

import itertools
import json

import numpy as np
import pytest

import armwise as aw


def best(scores: np.ndarray, feasible) -> float:
    """The largest sum over all sets of (row, block) pairs that `feasible` accepts."""
    pairs = [(i, j) for i in range(scores.shape[0]) for j in range(scores.shape[1]) if scores[i, j] > -np.inf]
    sums = [
        sum(scores[pair] for pair in chosen)
        for size in range(len(pairs) + 1)
        for chosen in itertools.combinations(pairs, size)
        if feasible(chosen)
    ]
    return max(sums)


RNG = np.random.default_rng(1)
SCORES = RNG.normal(size=(5, 2))
COST = RNG.uniform(0.1, 2.0, size=5)
GROUP = np.array([0.0, 1.0, 1.0, 2.0, 0.0])
COLUMNS = {"cost": COST, "group": GROUP}


def at_most_one_block(chosen) -> bool:
    rows = [row for row, _ in chosen]
    return len(rows) == len(set(rows))


def in_group(chosen, value: float) -> int:
    return sum(GROUP[row] == value for row, _ in chosen)


CASES = [
    (aw.TopK(3), lambda chosen: len(chosen) == 3),
    (aw.TopK(7, at_most=True), lambda chosen: len(chosen) <= 7),
    (
        aw.Assignment(quotas=[2, 1]),
        lambda chosen: at_most_one_block(chosen) and [j for _, j in chosen].count(0) == 2 and len(chosen) == 3,
    ),
    (
        aw.Assignment(quotas=[aw.Quota(max=3), aw.Quota(min=1, max=2)]),
        lambda chosen: (
            at_most_one_block(chosen)
            and [j for _, j in chosen].count(0) <= 3
            and 1 <= [j for _, j in chosen].count(1) <= 2
        ),
    ),
    (
        aw.Assignment(
            quotas=aw.Quota(max=2),
            groups=[aw.Group("group", value=1, min=2), aw.Group("group", value=2, block=0, max=0)],
        ),
        lambda chosen: (
            at_most_one_block(chosen)
            and max([j for _, j in chosen].count(block) for block in (0, 1)) <= 2
            and in_group(chosen, 1.0) >= 2
            and not any(GROUP[row] == 2.0 and j == 0 for row, j in chosen)
        ),
    ),
    (
        aw.Quotas(k=4, groups=[aw.Group("group", value=1, min=2), aw.Group("group", value=[0, 2], max=1)]),
        lambda chosen: (
            len(chosen) <= 4 and in_group(chosen, 1.0) >= 2 and in_group(chosen, 0.0) + in_group(chosen, 2.0) <= 1
        ),
    ),
    (
        aw.Budget(cost="cost", budget=2.0, per_row=1),
        lambda chosen: at_most_one_block(chosen) and sum(COST[row] for row, _ in chosen) <= 2.0,
    ),
    (
        aw.Linear([aw.LinearRow(column="cost", hi=2.0), aw.LinearRow(every=1, per_row=True, hi=1)]),
        lambda chosen: at_most_one_block(chosen) and sum(COST[row] for row, _ in chosen) <= 2.0,
    ),
    (
        aw.Linear([aw.LinearRow(terms=[aw.Term(0, 1), aw.Term((1, 1), 1)], hi=1), aw.LinearRow(every=1, lo=2, hi=4)]),
        lambda chosen: ((0, 0) in chosen) + ((1, 1) in chosen) <= 1 and 2 <= len(chosen) <= 4,
    ),
    (
        aw.Explicit([[0, (1, 1)], [(2, 1)], [3, 4]]),
        lambda chosen: set(chosen) in ({(0, 0), (1, 1)}, {(2, 1)}, {(3, 0), (4, 0)}),
    ),
]


@pytest.mark.parametrize(("constraint", "feasible"), CASES, ids=lambda case: getattr(case, "kind", ""))
def test_solving_agrees_with_brute_force(constraint: aw.Constraint, feasible) -> None:
    found = aw.solve(SCORES, constraint, columns=COLUMNS)
    chosen = list(zip(found.rows.tolist(), found.blocks.tolist(), strict=True))
    assert feasible(chosen)
    assert found.status == "optimal"
    assert found.objective == pytest.approx(best(SCORES, feasible))
    assert found.objective <= found.bound + 1e-12
    assert aw.solve(SCORES, json.loads(constraint.to_json()), columns=COLUMNS).rows.tolist() == found.rows.tolist()


@pytest.mark.parametrize(("constraint", "feasible"), CASES, ids=lambda case: getattr(case, "kind", ""))
def test_a_policy_chooses_what_the_oracle_finds(constraint: aw.Constraint, feasible) -> None:
    policy = aw.ArmWiseTS(blocks=2, seed=4)
    x = np.random.default_rng(2).normal(size=(5, 3))
    scores = policy.score(x)
    found = aw.solve(scores, constraint, columns=COLUMNS)
    d = policy.choose(x, constraint=constraint, columns=COLUMNS)
    assert (d.rows.tolist(), d.blocks.tolist()) == (found.rows.tolist(), found.blocks.tolist())
    assert (d.objective, d.bound, d.status, d.prices) == (found.objective, found.bound, found.status, found.prices)


def test_prices_and_what_is_missing() -> None:
    found = aw.solve([3.0, 2.0, 1.0], aw.Assignment(quotas=[2]))
    assert found.prices == {"block = 0": 1.0}
    short = aw.solve([3.0, -np.inf], aw.TopK(2, on_infeasible="fill"))
    assert short.rows.tolist() == [0]
    assert list(short.missing.values()) == [(2, 1)]


def test_groups_of_an_assignment_may_be_named_by_strings() -> None:
    region = ["north", "north", "south", "south"]
    scores = [[0.9, 0.8], [0.7, 0.6], [0.2, 0.3], [0.1, 0.1]]
    few = aw.Assignment(quotas=[1, 1], groups=[aw.Group("region", value="north", max=1)])
    assert aw.solve(scores, few, columns={"region": region}).rows.tolist() == [0, 2]
    cell = aw.Assignment(quotas=[1, 1], groups=[aw.Group("region", value="south", block=0, min=1)])
    assert aw.solve(scores, cell, columns={"region": region}).rows.tolist() == [2, 0]
    too_few = aw.Assignment(quotas=[2, 2], groups=[aw.Group("region", value="north", max=1)])
    with pytest.raises(aw.InfeasibleError, match="region = north") as caught:
        aw.solve(scores, too_few, columns={"region": region})
    assert caught.value.reason["reason"] == "contradiction"
    assert caught.value.reason["needed"] == 4


def test_infeasible_says_why() -> None:
    with pytest.raises(aw.InfeasibleError, match="only 2 are eligible") as caught:
        aw.solve([1.0, 2.0], k=3)
    assert isinstance(caught.value, ValueError)
    assert caught.value.reason == {"reason": "too-few-arms", "needed": 3, "eligible": 2}


def test_forbidden_arms_are_never_chosen() -> None:
    x = np.ones((6, 2))
    eligible = np.array([False, True, True, False, True, False])
    d = aw.C2UCB().choose(x, k=3, eligible=eligible)
    assert d.rows.tolist() == [1, 2, 4]
    mask = np.zeros((6, 2), dtype=bool)
    mask[3, 1] = mask[5, 0] = True
    d = aw.C2UCB(blocks=2).choose(x, constraint=aw.Assignment(quotas=[1, 1]), eligible=mask)
    assert list(zip(d.rows.tolist(), d.blocks.tolist(), strict=True)) == [(5, 0), (3, 1)]


def test_equal_scores_go_to_the_smaller_id_or_to_a_fair_draw() -> None:
    ids = [30, 10, 20]
    assert aw.solve([1.0, 1.0, 1.0], k=1, ids=ids).rows.tolist() == [1]
    first = [aw.solve([1.0, 1.0, 1.0], k=1, ids=ids, ties="random", seed=1, t=t).rows[0] for t in range(3000)]
    # Each third, within 5 standard errors.
    assert np.abs(np.bincount(first, minlength=3) - 1000).max() < 5 * np.sqrt(3000 * 2 / 9)
    assert aw.Explicit([["a"], ["b"]]).to_json() == '{"kind": "explicit", "super_arms": [["a"], ["b"]]}'
    assert aw.solve([0.1, 0.2], aw.Explicit([["a"], ["b"]]), ids=["b", "a"]).rows.tolist() == [1]


def test_a_function_as_oracle() -> None:
    seen = []

    def pairs(scores: np.ndarray) -> np.ndarray:
        seen.append(scores.copy())
        return np.argsort(-scores)[:4:2]

    policy = aw.ArmWiseTS(seed=5)
    x = np.random.default_rng(3).normal(size=(20, 3))
    scores = policy.score(x)
    d = policy.choose(x, constraint=pairs)
    assert np.array_equal(seen[0], scores)
    assert sorted(d.rows.tolist()) == sorted(np.argsort(-scores)[:4:2].tolist())
    policy.learn(d, [1.0, 0.0])
    two = aw.C2UCB(blocks=2).choose(x, constraint=lambda s: (s.argmax(axis=0), [0, 1]))
    assert two.blocks.tolist() == [0, 1]


def test_what_a_function_does_wrong_is_said() -> None:
    policy, x = aw.C2UCB(), np.eye(3)

    def broken(scores: np.ndarray) -> list[int]:
        raise RuntimeError("no idea")

    with pytest.raises(RuntimeError, match="no idea"):
        policy.choose(x, constraint=broken)
    with pytest.raises(ValueError, match="does not exist"):
        policy.choose(x, constraint=lambda scores: [3])
    with pytest.raises(ValueError, match="twice"):
        policy.choose(x, constraint=lambda scores: [1, 1])
    with pytest.raises(ValueError, match="may not be chosen"):
        policy.choose(x, constraint=lambda scores: [1], eligible=np.array([True, False, True]))
    with pytest.raises(TypeError, match="row numbers"):
        policy.choose(x, constraint=lambda scores: "all")
    assert policy.t_ == 1, "a failed choice is no round"


def test_a_function_may_use_the_policy_that_asks() -> None:
    policy = aw.C2UCB()

    def nosy(scores: np.ndarray) -> list[int]:
        policy.partial_fit([[1.0, 1.0]], [1.0])
        return [int(policy.score(np.eye(2)).argmax())]

    policy.choose(np.eye(2), constraint=nosy)
    assert policy.count_ == 1


def test_k_or_constraint_but_not_both() -> None:
    with pytest.raises(TypeError, match="either k or constraint"):
        aw.C2UCB().choose(np.eye(2))
    with pytest.raises(TypeError, match="either k or constraint"):
        aw.C2UCB().choose(np.eye(2), k=1, constraint=aw.TopK(1))
