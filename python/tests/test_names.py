"""Columns by their names: feature_names_in_, indexes of pandas, and rewards as a series."""

from __future__ import annotations

import copy
import pickle
import warnings

import numpy as np
import pytest

import armwise as aw

pa = pytest.importorskip("pyarrow")
pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")
duckdb = pytest.importorskip("duckdb")

RNG = np.random.default_rng(4)
X = RNG.normal(size=(60, 4))
Y = X @ [1.0, -2.0, 3.0, 0.5]
NAMES = ["a", "b", "c", "d"]
FRAME = pd.DataFrame(X, columns=NAMES)
BACKWARDS = ["d", "b", "a", "c"]

TABLES = {
    "pandas": lambda names: FRAME[names],
    "pandas of two types": lambda names: FRAME[names].assign(a=FRAME["a"].astype("Float64")),
    "polars": lambda names: pl.DataFrame(FRAME)[names],
    "pyarrow": lambda names: pa.table(FRAME).select(names),
    "duckdb": lambda names: duckdb.connect().from_arrow(pa.table(FRAME).select(names)),
    "dictionary": lambda names: {name: X[:, NAMES.index(name)] for name in names},
}


@pytest.fixture(autouse=True)
def _no_warnings():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


@pytest.mark.parametrize("library", TABLES)
def test_columns_are_aligned_by_name(library: str) -> None:
    expected = aw.C2UCB().partial_fit(X, Y)
    policy = aw.C2UCB().partial_fit(FRAME, Y)
    assert policy.feature_names_in_.tolist() == NAMES
    table = TABLES[library](BACKWARDS)
    assert np.array_equal(policy.score(table), expected.score(X))
    assert policy.choose(table, k=7) == expected.choose(X, k=7)
    policy.partial_fit(TABLES[library](BACKWARDS), Y)
    assert np.array_equal(policy.theta_, expected.partial_fit(X, Y).theta_)


@pytest.mark.parametrize("library", TABLES)
def test_missing_and_unknown_columns_are_refused_in_scikit_learns_words(library: str) -> None:
    policy = aw.C2UCB().partial_fit(FRAME, Y)
    with pytest.raises(ValueError, match="seen at fit time, yet now missing:\n- d\n"):
        policy.score(TABLES[library](["a", "b", "c"]))
    other = aw.C2UCB().partial_fit(FRAME[["a", "b", "c"]], Y)
    with pytest.raises(ValueError, match="unseen at fit time:\n- d\n"):
        other.choose(TABLES[library](NAMES), k=1)
    assert len(other.choose(TABLES[library](NAMES), k=1, features=["c", "a", "b"])) == 1


def test_the_names_are_kept_as_the_policy_is() -> None:
    policy = aw.C2UCB().partial_fit(FRAME, Y)
    for twin in (copy.copy(policy), copy.deepcopy(policy), pickle.loads(pickle.dumps(policy))):
        assert twin.feature_names_in_.tolist() == NAMES
    assert not hasattr(aw.C2UCB(), "feature_names_in_")
    assert aw.C2UCB().merge(policy).feature_names_in_.tolist() == NAMES
    with pytest.raises(ValueError, match="features are d, b, a, c on one side and a, b, c, d"):
        aw.C2UCB().partial_fit(FRAME[BACKWARDS], Y).merge(policy)


def test_a_loaded_policy_says_which_names_it_takes(tmp_path) -> None:
    policy = aw.C2UCB().partial_fit(FRAME, Y)
    policy.save(tmp_path / "p.json")
    again = aw.load(tmp_path / "p.json")
    with pytest.warns(UserWarning, match="has no feature names: from now on they are a, b, c, d, in this order"):
        scores = again.score(FRAME)
    assert np.array_equal(again.score(FRAME[BACKWARDS]), scores)
    told = aw.load(tmp_path / "p.json")
    told.feature_names_in_ = NAMES
    assert np.array_equal(told.score(FRAME[BACKWARDS]), scores)


def test_arrays_are_taken_by_position_with_a_warning() -> None:
    named, unnamed = aw.C2UCB().partial_fit(FRAME, Y), aw.C2UCB().partial_fit(X, Y)
    with pytest.warns(UserWarning, match="X does not have valid feature names, but C2UCB was fitted with"):
        scores = named.score(X)
    with pytest.warns(UserWarning, match="X has feature names, but C2UCB was fitted without feature names"):
        assert np.array_equal(unnamed.score(FRAME), scores)
    assert not hasattr(unnamed, "feature_names_in_")
    numbered = aw.C2UCB().partial_fit(pd.DataFrame(X), Y)
    assert not hasattr(numbered, "feature_names_in_")
    assert np.array_equal(numbered.score(X), scores)


FILTERED = FRAME[FRAME["a"] > 0]
INDEXES = {
    "filtered": FILTERED,
    "named": FILTERED.assign(customer=RNG.permutation(10_000)[: len(FILTERED)]).set_index("customer"),
    "strings": FILTERED.set_index(pd.Index([f"c{i}" for i in range(len(FILTERED))])),
    "two levels": FILTERED.set_index(pd.MultiIndex.from_arrays([range(len(FILTERED)), ["x"] * len(FILTERED)])),
}


@pytest.mark.parametrize("frame", INDEXES.values(), ids=INDEXES)
@pytest.mark.parametrize("through", [lambda frame: frame, pa.table], ids=["pandas", "pyarrow"])
def test_an_index_is_no_feature(frame: pd.DataFrame, through) -> None:
    d = aw.C2UCB().choose(through(frame), k=3)
    assert d.features.shape[1] == 4
    assert d == aw.C2UCB().choose(FILTERED.to_numpy(), k=3)


def test_an_index_gives_ids_by_its_name() -> None:
    frame = INDEXES["named"]
    d = aw.C2UCB().choose(frame, k=3, ids="customer")
    assert d.ids.tolist() == frame.index[d.rows].tolist()
    assert aw.C2UCB().choose(pa.table(frame), k=3, ids="customer") == d


def test_rewards_as_a_series_go_to_the_ids_in_its_index() -> None:
    frame = INDEXES["named"]
    paid = pd.Series(np.arange(len(frame), dtype=float), index=frame.index)

    def learned(rewards) -> np.ndarray:
        policy = aw.C2UCB()
        d = policy.choose(frame, k=5, ids="customer")
        policy.learn(d, rewards(d))
        return policy.theta_

    by_id = learned(lambda d: paid[d.ids].to_dict())
    assert np.array_equal(learned(lambda d: paid[d.ids]), by_id)
    assert np.allclose(learned(lambda d: paid[d.ids].iloc[::-1]), by_id)
    assert np.array_equal(learned(lambda d: pd.Series(paid[d.ids].to_numpy())), by_id)
    with pytest.raises(KeyError, match="arm 20000 was not chosen in round 1; give rewards of chosen arms"):
        learned(lambda d: paid[d.ids].rename({d.ids[0]: 20_000}))
    with pytest.raises(ValueError, match="twice"):
        learned(lambda d: paid[d.ids].rename({d.ids[0]: d.ids[1]}))


def test_a_series_with_another_index_than_its_frame_is_refused() -> None:
    paid = pd.Series(Y)
    assert np.array_equal(aw.C2UCB().partial_fit(FRAME, paid).theta_, aw.C2UCB().partial_fit(X, Y).theta_)
    shuffled = paid.sample(frac=1.0, random_state=1)
    with pytest.raises(ValueError, match="rewards and X have different indexes"):
        aw.C2UCB().partial_fit(FRAME, shuffled)
    with pytest.raises(ValueError, match="sample_weight and X have different indexes"):
        aw.C2UCB().partial_fit(FRAME, paid, sample_weight=shuffled.abs())
    with pytest.raises(ValueError, match="column 'price' and X have different indexes"):
        aw.C2UCB().choose(FRAME, constraint=aw.Budget("price", 3.0), columns={"price": shuffled.abs()})
    with pytest.raises(ValueError, match="eligible and X have different indexes"):
        aw.C2UCB().choose(FRAME, k=1, eligible=shuffled > 0)
