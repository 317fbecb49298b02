"""A policy as the last step of a scikit-learn pipeline."""

from __future__ import annotations

import numpy as np
import pytest
from conftest import every_policy, state

import armwise as aw

pytest.importorskip("sklearn")
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.utils.validation import check_is_fitted

RNG = np.random.default_rng(1)
X, Y = RNG.normal(3.0, 2.0, size=(80, 4)), RNG.normal(size=80)


@pytest.mark.parametrize("policy", every_policy(seed=3), ids=lambda p: p.name)
def test_a_pipeline_gives_the_scores_of_its_steps_by_hand(policy: aw.Policy) -> None:
    pipe = make_pipeline(StandardScaler(), clone(policy)).fit(X, Y)
    scaled = StandardScaler().fit_transform(X)
    by_hand = clone(policy).partial_fit(scaled, Y)
    assert np.array_equal(pipe.predict(X), by_hand.score(scaled))
    assert pipe[-1].choose(pipe[:-1].transform(X), k=5) == by_hand.choose(scaled, k=5)


def test_fit_forgets_what_was_learned_before() -> None:
    policy = aw.ArmWiseTS(seed=4)
    policy.learn(policy.choose(X, k=5), Y[:5])
    assert policy.fit(X, Y) is policy
    fresh = aw.ArmWiseTS(seed=4).partial_fit(X, Y)
    assert (state(policy), policy.t_) == (state(fresh), fresh.t_)
    before = state(policy)
    with pytest.raises(ValueError, match="rewards"):
        policy.fit(X, Y[:3])
    assert state(policy) == before


def test_sparse_features_from_an_encoder() -> None:
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"town": RNG.choice(["a", "b", "c"], size=80), "age": RNG.uniform(size=80)})
    encoder = make_column_transformer((OneHotEncoder(), ["town"]), (StandardScaler(), ["age"]), sparse_threshold=1.0)
    pipe = make_pipeline(encoder, aw.C2UCB()).fit(frame, Y)
    encoded = pipe[:-1].transform(frame)
    assert hasattr(encoded, "tocsr")
    dense = aw.C2UCB().partial_fit(encoded.toarray(), Y)
    assert np.array_equal(pipe.predict(frame), dense.score(encoded.toarray()))


def test_a_policy_says_whether_it_is_fitted() -> None:
    with pytest.raises(NotFittedError):
        check_is_fitted(aw.Greedy())
    check_is_fitted(aw.Greedy().fit(X, Y))
    with pytest.raises(NotFittedError):
        check_is_fitted(clone(aw.Greedy().fit(X, Y)))
