# %% [markdown]
# # Slates: what was shown and never looked at
# Run it whole (`python examples/slate.py`) or cell by cell in an editor that knows `# %%`.
#
# A page shows five of forty items, the best on top. Two models of what a visitor looks at, each with the rewards that
# suit it, beside what happens if every silence is taken for a dislike.

# %% The world: items whose click rate is linear in their features, and a visitor
import numpy as np

import armwise as aw

rng = np.random.default_rng(0)
ITEMS, D, K, VISITS = 40, 6, 5, 1_500
items = rng.uniform(size=(ITEMS, D)) / D
taste = rng.uniform(size=D)  # nobody knows it
attraction = items @ taste  # the chance of a click on an item that is looked at
best = np.sort(attraction)[-K:].sum()


def error(policy: aw.Policy) -> float:
    """How far off the estimated click rates are, on average over all items."""
    return float(np.abs(items @ policy.theta_.ravel() - attraction).mean())


# %% Cascade: a visitor looks from the top and stops at the first click
def cascade(slate: aw.Decision) -> int | None:
    """The place of the first click."""
    clicks = np.flatnonzero(rng.uniform(size=K) < attraction[slate.rows])
    return int(clicks[0]) if len(clicks) else None


told, naive = (aw.ArmWiseTS(lam="auto", v="auto", seed=1) for _ in range(2))
for _ in range(VISITS):
    slate = told.choose(items, k=K)
    told.learn(slate, slate.up_to_click(cascade(slate)))  # nothing about what lies below the click
    slate = naive.choose(items, k=K)
    place = cascade(slate)
    naive.learn(slate, [float(at == place) for at in range(K)])  # silence below the click taken for a dislike
print(f"cascade:  click rates are off by {error(told):.3f}, and by {error(naive):.3f} if what nobody saw counts as 0")
assert error(told) < error(naive)

# %% Positions: place j is looked at with a known probability, whatever is clicked
examined = np.array([1.0, 0.7, 0.5, 0.35, 0.25])
told, naive = (aw.ArmWiseTS(lam="auto", v="auto", seed=1) for _ in range(2))
for _ in range(VISITS):
    for policy in (told, naive):
        slate = policy.choose(items, k=K)
        clicks = rng.uniform(size=K) < examined * attraction[slate.rows]
        policy.learn(slate.examined(examined) if policy is told else slate, clicks.astype(float))
print(f"position: click rates are off by {error(told):.3f}, and by {error(naive):.3f} without the probabilities")
assert error(told) < error(naive)
