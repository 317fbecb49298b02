"""Tables of many rows, of which only the best few are wanted: chosen part by part, as from the whole array."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from conftest import every_policy

import armwise as aw

pa = pytest.importorskip("pyarrow")
pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")

RNG = np.random.default_rng(11)
N, D = 70_001, 6
X = RNG.normal(size=(N, D)).round(1)  # rounded, so that there are ties
IDS = RNG.permutation(N) + 5
NAMES = [f"n{key}" for key in IDS]
FEATURES = [f"x{j}" for j in range(D)]
SEEN = RNG.normal(size=(200, D))


def in_chunks(columns: dict[str, np.ndarray]) -> pa.Table:
    whole = pa.table(columns)
    return pa.concat_tables([whole[:1], whole[1:20_000], whole[20_000:20_000], whole[20_000:]])


TABLES = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "pyarrow": pa.table, "chunks": in_chunks, "dictionary": dict}


def columns(x: np.ndarray) -> dict[str, np.ndarray]:
    return {name: np.ascontiguousarray(x[:, j]) for j, name in enumerate(FEATURES)}


def learned(policy: aw.Policy) -> aw.Policy:
    return policy.partial_fit(columns(SEEN), SEEN[:, 0])


@pytest.mark.parametrize("library", TABLES)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_the_best_of_a_large_table_are_those_of_its_array(library: str, dtype: type) -> None:
    x = X.astype(dtype)
    table = TABLES[library](columns(x))
    for policy in every_policy(seed=3, ties="random"):
        if policy.name in ("random", "arm-wise-ts", "c2ucb", "greedy"):
            array = type(policy)(**policy.get_params()).partial_fit(SEEN, SEEN[:, 0])
            assert learned(policy).choose(table, k=300) == array.choose(x, k=300), policy


@pytest.mark.parametrize("ids", [IDS, NAMES], ids=["ids", "names"])
def test_ids_and_masks_of_a_large_table(ids: object) -> None:
    eligible = RNG.uniform(size=N) < 0.3
    table = pl.DataFrame({**columns(X), "id": ids, "ok": eligible})
    found = learned(aw.ArmWiseTS(v=0.3)).choose(table, k=40, ids="id", eligible="ok")
    expected = aw.ArmWiseTS(v=0.3).partial_fit(SEEN, SEEN[:, 0]).choose(X, k=40, ids=ids, eligible=eligible)
    assert found == expected
    assert found.ids.tolist() == [ids[row] for row in found.rows]
    several = np.column_stack([eligible, ~eligible])
    policies = [aw.C2UCB(blocks=2), aw.C2UCB(blocks=2)]
    assert policies[0].choose(table, k=9, features=FEATURES, eligible=several) == policies[1].choose(
        X, k=9, eligible=several
    )


@pytest.mark.parametrize("row", [0, 16_384, 50_000, N - 1])
@pytest.mark.parametrize("eligible", [True, False])
def test_a_bad_number_in_a_large_table_is_found_where_the_array_has_it(row: int, eligible: bool) -> None:
    x, mask = X.copy(), np.ones(N, bool)
    x[row, 2] = np.nan
    mask[row] = eligible
    for given in (x, pa.table(columns(x)), columns(x)):
        policy = aw.C2UCB()
        with pytest.raises(ValueError, match=f"row {row}, column 2 is NaN") as caught:
            policy.choose(given, k=10, eligible=mask)
        assert (caught.value.row, caught.value.column) == (row, 2)
        assert not hasattr(policy, "feature_names_in_")


def test_other_errors_of_a_large_table_are_those_of_the_array() -> None:
    table = pa.table({**columns(X), "id": np.where(IDS == 9, 10, IDS)})
    with pytest.raises(ValueError, match="id 10 appears in rows"):
        aw.C2UCB().choose(table, k=10, ids="id")
    nobody = np.zeros(N, bool)
    nobody[4] = True
    with pytest.raises(aw.InfeasibleError, match="exactly 10 arms are asked for, but only 1 are eligible"):
        aw.C2UCB().choose(pa.table(columns(X)), k=10, eligible=nobody)
    with pytest.raises(ValueError, match="eligible flags: expected 70001, found 70000"):
        aw.C2UCB().choose(pa.table(columns(X)), k=10, eligible=np.ones(N - 1, bool))


MEMORY = """
import sys
from pathlib import Path
import numpy as np, armwise as aw
n, d = 600_000, 20
columns = {f"x{j}": np.random.default_rng(j).normal(size=n) for j in range(d)}
if sys.argv[1] == "pandas":
    import pandas
    table = pandas.DataFrame(columns)
else:
    import pyarrow
    table = pyarrow.table(columns)
del columns
policy = aw.ArmWiseTS(v=0.1)
policy.choose(table[:40_000], k=10)
def memory(what):
    return next(int(line.split()[1]) for line in Path("/proc/self/status").read_text().splitlines() if what in line)
Path("/proc/self/clear_refs").write_text("5")
before = memory("VmRSS")
policy.choose(table, k=100)
print((memory("VmHWM") - before) * 1024 / (8 * n * d))
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
@pytest.mark.parametrize("library", ["pandas", "pyarrow"])
def test_choosing_the_best_of_a_table_makes_no_copy_of_it(library: str) -> None:
    printed = subprocess.run([sys.executable, "-c", MEMORY, library], check=True, capture_output=True, text=True).stdout
    assert float(printed) < 0.25, f"the peak grew by {float(printed):.2f} of the table"
