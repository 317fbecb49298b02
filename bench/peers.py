"""Other bandit packages, each doing one round: choose k of n arms by their features, then learn their rewards.

Each is used as its documentation recommends for many arms that each have features. Only bayesianbandits has a shared
linear model with a top k; the docstrings of the others say what they do instead.
"""
import numpy as np

ALPHA, V = 0.1, 0.1


def bayesianbandits(batched):
    """A shared Bayesian regression, Thompson sampling and `pull(top_k=k)`.

    The agent learns one chosen arm at a time, as its documentation says; `batched` gives all rewards to the learner
    behind the agent's back, which is as fast as it can be made.
    """

    def make(x, k):
        from bayesianbandits import Arm, FunctionArmFeaturizer, LipschitzContextualAgent, NormalRegressor, ThompsonSampling

        features = np.ascontiguousarray(x.T)[None]
        everything = len(x)
        featurizer = FunctionArmFeaturizer(
            lambda context, tokens: features if len(tokens) == everything else np.ascontiguousarray(x[tokens].T)[None])
        learner = NormalRegressor(alpha=1.0, beta=1.0, random_state=0)
        agent = LipschitzContextualAgent(arms=[Arm(i) for i in range(everything)], policy=ThompsonSampling(),
                                         arm_featurizer=featurizer, learner=learner, random_seed=0)
        context, reward = np.zeros((1, 1)), np.full(1, 0.5)

        def round():
            chosen = agent.pull(context, top_k=k)[0]
            if batched:
                learner.partial_fit(x[chosen], np.full(k, 0.5))
            else:
                for arm in chosen:
                    agent.select_for_update(arm).update(context, reward)

        return round

    return make


def vowpal_wabbit(x, k):
    """Conditional contextual bandits: one list of k slots, then learning from it with the slots' costs."""
    import vowpalwabbit

    vw = vowpalwabbit.Workspace("--ccb_explore_adf --quiet --softmax --lambda 10 --random_seed 1")
    actions = ["ccb action | " + " ".join(f"f{j}:{value:.6g}" for j, value in enumerate(row)) for row in x]
    shared = "ccb shared | bias"

    def round():
        slots = vw.predict([shared, *actions, *["ccb slot |"] * k])
        outcomes = [f"ccb slot {slot[0][0]}:-0.5:{slot[0][1]} |" for slot in slots]
        vw.learn([shared, *actions, *outcomes])

    return round


def mabwiser(policy):
    """A separate linear model for each arm, since it has no shared one: expectations for one context, then a sort."""

    def make(x, k):
        from mabwiser.mab import MAB, LearningPolicy

        n, d = x.shape
        rule = LearningPolicy.LinUCB(alpha=ALPHA) if policy == "LinUCB" else LearningPolicy.LinTS(alpha=V)
        mab = MAB(list(range(n)), rule, seed=1)
        mab.fit(decisions=list(range(n)), rewards=np.full(n, 0.5), contexts=x)
        context = np.ones((1, d)) / np.sqrt(d)

        def round():
            expected = mab.predict_expectations(context)
            chosen = sorted(expected, key=expected.get, reverse=True)[:k]
            mab.partial_fit(decisions=chosen, rewards=np.full(k, 0.5), contexts=np.repeat(context, k, axis=0))

        return round

    return make


# name: (how to make a round, bar)
PEERS = {
    "bayesianbandits": (bayesianbandits(batched=False), 100),
    "bayesianbandits, learner fitted in one batch": (bayesianbandits(batched=True), None),
    "vowpalwabbit CCB": (vowpal_wabbit, 500),
    "MABWiser LinUCB": (mabwiser("LinUCB"), None),
    "MABWiser LinTS": (mabwiser("LinTS"), None),
}
