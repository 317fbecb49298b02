# %% [markdown]
# # armwise in five minutes
# Run it whole (`python examples/quickstart.py`) or cell by cell in an editor that knows `# %%`.

# %% A campaign: 5,000 customers, three promotions, so many sends of each
import tempfile
from pathlib import Path

import numpy as np

import armwise as aw

rng = np.random.default_rng(0)
N, D, M = 5_000, 8, 3
truth = rng.normal(size=(M, D)) / np.sqrt(D)  # what each promotion's response depends on; nobody knows it
sends = aw.Assignment(quotas=[200, 200, 100])  # at most one promotion for each customer

policy = aw.ArmWiseTS(lam=1.0, v=0.1, blocks=M, seed=7)


def respond(customers: np.ndarray, d: aw.Decision) -> np.ndarray:
    """What the world pays for each send."""
    paid: np.ndarray = (customers[d.rows] * truth[d.blocks]).sum(axis=1)
    return paid + 0.1 * rng.normal(size=len(d))


for week in range(1, 9):
    customers = rng.normal(size=(N, D)).astype(np.float32)  # other customers every week; float32 is not copied
    d = policy.choose(customers, constraint=sends)
    rewards = respond(customers, d)
    best = aw.solve(customers @ truth.T, sends).objective
    policy.learn(d, rewards)
    print(f"week {week}: earned {rewards.sum():6.1f} of {best:6.1f} possible")

# %% What was learned, and how sure it is
print("largest error of theta:", np.abs(policy.theta_ - truth).max().round(3))
print("standard errors, for noise of 0.1:", (0.1 * policy.stderr_).max().round(4))

# %% Why these customers? d.to_pandas(), d.to_polars() and d.to_arrow() give this as a table of one row for each send
for row, block, mean, width, score in list(zip(d.rows, d.blocks, d.means, d.widths, d.scores, strict=True))[:5]:
    print(f"customer {row:4} promotion {block}: mean {mean:.3f}, width {width:.3f}, score {score:.3f}")

# %% Rewards that come late, in parts, by id
ids = [f"customer-{i}" for i in range(N)]
late = policy.choose(customers, constraint=sends, ids=ids)
policy.learn(late, {late.ids[0]: 1.0, late.ids[3]: 0.0})  # two have answered
text = late.to_json()  # keep the decision; learn the rest next week, from here or from Rust
later = aw.Decision.from_json(text)
policy.learn(later, {later.ids[1]: 0.5})

# %% Save, go on elsewhere: the same bits
path = Path(tempfile.mkdtemp()) / "policy.json"
policy.save(path)
again = aw.load(path)
assert again.choose(customers, constraint=sends) == policy.choose(customers, constraint=sends)


# %% A policy of your own: forced exploration of the least certain
class Curious(aw.Policy):
    """The estimate, and a bonus for arms that are among the least certain tenth."""

    def __init__(self, lam: float = 1.0, bonus_: float = 0.5, *, blocks: int = 1, seed: int = 0) -> None:
        self.lam, self.bonus_, self.blocks, self.seed = lam, bonus_, blocks, seed

    def bonus(self, at: aw.Context, width: np.ndarray, draw: np.ndarray | None) -> np.ndarray:
        return np.where(width >= np.quantile(width, 0.9), self.bonus_, 0.0)


# %% The paper's clustered problem: everybody plays the same rounds
problem = aw.lab.clustered(angle=1.4, rounds=10)
results = aw.lab.run(problem, [aw.C2UCB(alpha=0.1), aw.ArmWiseTS(v=0.1), Curious()], trials=20)
for row in results.summary():
    print(f"{row['policy']:<36} regret {row['regret']:7.1f} +- {row['regret_se']:.1f}")
