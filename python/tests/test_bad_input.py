"""Nonsense: the right exception with the place, and the model as it was."""

from __future__ import annotations

import re

import numpy as np
import pytest
from conftest import state, trained

import armwise as aw

GOOD = np.random.default_rng(1).normal(size=(20, 5))


def with_value(value: float, dtype: type = np.float64) -> np.ndarray:
    x = GOOD.astype(dtype)
    x[7, 3] = value
    return x


CHOICES = {
    "NaN": (with_value(np.nan), {"k": 2}, ValueError, "row 7, column 3 is NaN"),
    "NaN in float32": (with_value(np.nan, np.float32), {"k": 2}, ValueError, "row 7, column 3 is NaN"),
    "infinity": (with_value(-np.inf), {"k": 2}, ValueError, "row 7, column 3 is -inf"),
    "too large": (with_value(1e200), {"k": 20}, ValueError, "row 7"),
    "strings": (np.full((3, 5), "a"), {"k": 2}, TypeError, "dtype <U1"),
    "objects": (np.full((3, 5), None), {"k": 2}, TypeError, "dtype object"),
    "complex": (GOOD.astype(complex), {"k": 2}, TypeError, "dtype complex128"),
    "one dimension": (GOOD[0], {"k": 2}, ValueError, "2 dimensions"),
    "three dimensions": (GOOD[None], {"k": 2}, ValueError, "2 dimensions"),
    "no arms": (GOOD[:0], {"k": 2}, ValueError, "no arms"),
    "no features": (GOOD[:, :0], {"k": 2}, ValueError, ""),
    "other features": (GOOD[:, :4], {"k": 2}, ValueError, "expected 5, found 4"),
    "k above n": (GOOD, {"k": 21}, aw.InfeasibleError, "only 20 are eligible"),
    "k of zero": (GOOD, {"k": 0}, ValueError, "k = 0"),
    "negative k": (GOOD, {"k": -1}, ValueError, ""),
    "duplicate ids": (GOOD, {"k": 2, "ids": [3, *range(18), 3]}, ValueError, "id 3 appears in rows 0 and 4"),
    "duplicate names": (GOOD, {"k": 2, "ids": ["a"] * 20}, ValueError, 'name "a" appears in rows 0 and 1'),
    "negative ids": (GOOD, {"k": 2, "ids": range(-5, 15)}, ValueError, "id at row 0 is -5"),
    "float ids": (GOOD, {"k": 2, "ids": np.arange(20.0)}, TypeError, "dtype float64"),
    "too few ids": (GOOD, {"k": 2, "ids": range(19)}, ValueError, "ids: expected 20, found 19"),
    "mixed ids": (GOOD, {"k": 2, "ids": np.array(["a", 1] * 10, dtype=object)}, TypeError, "dtype object"),
    "mask of numbers": (GOOD, {"k": 2, "eligible": np.ones(20)}, TypeError, "must be bool"),
    "mask too short": (GOOD, {"k": 2, "eligible": np.ones(19, bool)}, ValueError, "expected 20, found 19"),
    "nobody eligible": (GOOD, {"k": 2, "eligible": np.zeros(20, bool)}, aw.InfeasibleError, "only 0 are eligible"),
    "unknown column": (GOOD, {"constraint": aw.Budget(cost="price", budget=1)}, KeyError, "price"),
    "negative cost": (
        GOOD,
        {"constraint": aw.Budget(cost="price", budget=1), "columns": {"price": -np.ones(20)}},
        ValueError,
        "price",
    ),
    "column of names": (GOOD, {"k": 2, "columns": {"price": ["a"] * 20}}, TypeError, "column 'price'"),
    "unknown kind": (GOOD, {"constraint": {"kind": "magic"}}, ValueError, "magic"),
    "unknown field": (GOOD, {"constraint": {"kind": "top-k", "k": 2, "n": 3}}, ValueError, "unknown field"),
    "no constraint": (GOOD, {"constraint": 7}, TypeError, "not int"),
}


@pytest.mark.parametrize(("x", "arguments", "kind", "text"), CHOICES.values(), ids=CHOICES.keys())
def test_a_bad_choice(x: np.ndarray, arguments: dict, kind: type, text: str) -> None:
    policy = trained(aw.ArmWiseTS(seed=1))
    before, t = state(policy), policy.t_
    with pytest.raises(kind) as caught:
        policy.choose(x, **arguments)
    assert text in str(caught.value)
    assert (state(policy), policy.t_) == (before, t)


def test_where_a_feature_is_bad_stands_on_the_exception() -> None:
    with pytest.raises(ValueError, match="feature") as caught:
        aw.Greedy().partial_fit(with_value(np.nan), np.zeros(20))
    assert (caught.value.row, caught.value.column) == (7, 3)


LAYOUTS = {
    "Fortran order": np.asfortranarray(GOOD),
    "every other row": np.repeat(GOOD, 2, axis=0)[::2],
    "backwards": GOOD[::-1][::-1],
    "a slice of columns": np.hstack([GOOD, GOOD])[:, :5],
    "read-only": np.lib.stride_tricks.as_strided(GOOD, writeable=False),
    "lists": GOOD.tolist(),
    "big-endian": GOOD.astype(">f8"),
    "unaligned": np.frombuffer(b"x" + GOOD.tobytes(), offset=1).reshape(20, 5),
}


@pytest.mark.parametrize("x", LAYOUTS.values(), ids=LAYOUTS.keys())
def test_other_layouts_work(x: object) -> None:
    assert aw.ArmWiseTS(seed=1).choose(x, k=4) == aw.ArmWiseTS(seed=1).choose(GOOD, k=4)


@pytest.mark.parametrize("dtype", [np.int8, np.int64, np.uint16, np.bool_, np.float16])
def test_other_numbers_work(dtype: type) -> None:
    x = (GOOD > 0).astype(dtype)
    assert aw.ArmWiseTS(seed=1).choose(x, k=4) == aw.ArmWiseTS(seed=1).choose(x.astype(np.float64), k=4)


def test_bad_rewards() -> None:
    policy = trained(aw.C2UCB())
    d = policy.choose(GOOD, k=3, ids=np.arange(20) + 50)
    before = state(policy)
    cases = [
        ([1.0, 2.0], ValueError, "expected 3"),
        ([1.0, np.nan, 0.0], ValueError, "NaN"),
        ({d.ids[0]: np.inf}, ValueError, "inf"),
        ({d.ids[0]: 1.0, 7: 1.0}, KeyError, "7"),
        ({-7: 1.0}, KeyError, "-7"),
        ({"x": 1.0}, KeyError, "x"),
        ({(d.ids[0], 4): 1.0}, KeyError, "block 4"),
        ({d.ids[0]: "much"}, TypeError, ""),
        (["a", "b", "c"], TypeError, "dtype"),
        ([[1.0, 2.0, 3.0]], ValueError, "1 dimension"),
        ([1e200, 0.0, 0.0], ValueError, "1e100"),
    ]
    for rewards, kind, text in cases:
        with pytest.raises(kind) as caught:
            policy.learn(d, rewards)
        assert text in str(caught.value), rewards
        assert state(policy) == before, rewards


def test_bad_observations() -> None:
    policy = trained(aw.C2UCB())
    before = state(policy)
    cases = [
        ((GOOD, np.zeros(19)), {}, ValueError),
        ((GOOD, np.full(20, np.nan)), {}, ValueError),
        ((GOOD, np.zeros(20)), {"sample_weight": -np.ones(20)}, ValueError),
        ((GOOD, np.zeros(20)), {"sample_weight": np.ones(3)}, ValueError),
        ((GOOD, np.zeros(20)), {"blocks": np.ones(20, int)}, KeyError),
        ((GOOD[:, :2], np.zeros(20)), {}, ValueError),
    ]
    for arguments, more, kind in cases:
        with pytest.raises(kind):
            policy.partial_fit(*arguments, **more)
        assert state(policy) == before
    with pytest.raises(ValueError, match=r"factor = 1\.5"):
        policy.forget(1.5)


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: aw.ArmWiseTS(lam=0.0), "lambda = 0"),
        (lambda: aw.C2UCB(alpha=-1.0), "alpha = -1"),
        (lambda: aw.ArmWiseTS(v=aw.Theory(r=1.0, s=1.0, delta=2.0, k=1)), "delta = 2"),
        (lambda: aw.CombLinUCB(sigma2=float("nan")), "sigma2 = nan: must be a finite number"),
    ],
)
def test_bad_parameters(make, text: str) -> None:
    with pytest.raises(ValueError, match=text):
        make()


def test_parameters_that_are_no_numbers() -> None:
    with pytest.raises((TypeError, ValueError)):
        aw.C2UCB(alpha="large")
    with pytest.raises(ValueError, match="ties"):
        aw.C2UCB(ties="coin").choose(GOOD, k=1)
    with pytest.raises(ValueError, match="gamma"):
        aw.C2UCB(gamma=0.0).choose(GOOD, k=1)
    with pytest.raises(ValueError, match="blocks"):
        aw.C2UCB(blocks=0).choose(GOOD, k=1)


def test_bad_files(tmp_path) -> None:
    with pytest.raises(FileNotFoundError):
        aw.load(tmp_path / "nothing.json")
    with pytest.raises(FileNotFoundError):
        trained(aw.C2UCB()).save(tmp_path / "no" / "folder.json")
    with pytest.raises(AttributeError, match="not seen"):
        aw.C2UCB().save(tmp_path / "p.json")
    assert list(tmp_path.iterdir()) == []
    path = tmp_path / "p.json"
    trained(aw.C2UCB(alpha=1.0)).save(path)
    text = path.read_text()
    for damaged in ("", "{}", text[:100], text.replace('"alpha":1.0', '"alpha":2.0')):
        path.write_text(damaged)
        with pytest.raises(ValueError, match=r"damaged|not a readable"):
            aw.load(path)
    for dim in (3_000_000_000, 2**63 - 1):
        path.write_text(re.sub(r'"dim":\d+', f'"dim":{dim}', text))
        with pytest.raises(ValueError, match=r"not a readable.*dim"):
            aw.load(path)
    path.write_text(re.sub(r'("next":\{"seed":\d+,"t":)\d+', r"\g<1>99", text))
    with pytest.raises(ValueError, match="damaged"):
        aw.load(path)
    path.write_text(text.replace('"version":3', '"version":9'))
    with pytest.raises(ValueError, match="newer armwise"):
        aw.load(path)
