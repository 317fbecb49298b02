"""Tables by the Arrow PyCapsule interface: pandas, polars, pyarrow, DuckDB; decisions back into them."""

from __future__ import annotations

import numpy as np
import pytest

import armwise as aw

pa = pytest.importorskip("pyarrow")
pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")
duckdb = pytest.importorskip("duckdb")

RNG = np.random.default_rng(1)
N = 300
X = RNG.normal(size=(N, 4))
IDS = RNG.permutation(N) + 1000
NAMES = [f"customer-{key}" for key in IDS]
COST = RNG.uniform(0.5, 2.0, size=N)
ELIGIBLE = RNG.uniform(size=N) < 0.8
FEATURES = ["age", "visits", "spend", "bias"]


def columns(dtype: type = np.float64) -> dict[str, object]:
    features = {name: X[:, place].astype(dtype) for place, name in enumerate(FEATURES)}
    return {"customer": IDS, "name": NAMES, **features, "price": COST, "ok": ELIGIBLE}


def duck(dtype: type = np.float64) -> object:
    frame = pa.table(columns(dtype))
    return duckdb.connect().from_arrow(frame)


TABLES = {
    "pandas": lambda dtype=np.float64: pd.DataFrame(columns(dtype)),
    "polars": lambda dtype=np.float64: pl.DataFrame(columns(dtype)),
    "pyarrow": lambda dtype=np.float64: pa.table(columns(dtype)),
    "duckdb": duck,
}


@pytest.mark.parametrize("library", TABLES)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("key", ["customer", "name"])
def test_a_table_gives_the_choice_of_its_arrays(library: str, dtype: type, key: str) -> None:
    constraint = aw.Budget(cost="price", budget=6.0)
    ids = IDS if key == "customer" else NAMES
    expected = aw.ArmWiseTS(seed=2).choose(
        X.astype(dtype), constraint=constraint, ids=ids, eligible=ELIGIBLE, columns={"price": COST}
    )
    table = TABLES[library](dtype)
    found = aw.ArmWiseTS(seed=2).choose(table, constraint=constraint, features=FEATURES, ids=key, eligible="ok")
    assert found == expected


def test_without_names_all_other_columns_are_features() -> None:
    table = pl.DataFrame(columns()).drop("name")
    expected = aw.C2UCB().choose(X, k=5, ids=IDS, eligible=ELIGIBLE)
    found = aw.C2UCB().choose(table, k=5, ids="customer", eligible="ok", columns=["price"])
    assert found == expected


def test_mixed_and_whole_numbers_are_features_too() -> None:
    table = pa.table(
        {"a": pa.array([1, 2, 3], pa.int8()), "b": pa.array([0.5, 1.5, 2.5], pa.float32()), "c": [True, False, True]}
    )
    expected = np.array([[1, 0.5, 1], [2, 1.5, 0], [3, 2.5, 1]])
    assert np.array_equal(aw.C2UCB().choose(table, k=3).features, aw.C2UCB().choose(expected, k=3).features)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_one_list_column_is_not_copied(dtype: type) -> None:
    from armwise import _armwise

    values = X.astype(dtype)
    cells = pa.array(values.reshape(-1))
    table = pa.table({"x": pa.FixedSizeListArray.from_arrays(cells, 4), "id": IDS})
    read = _armwise.Table(table).rows(["x"])
    assert read.__array_interface__["data"][0] == cells.buffers()[1].address
    assert not read.flags.writeable
    assert np.array_equal(read, values)
    part = table.slice(10, 20)
    read = _armwise.Table(part).rows(["x"])
    assert np.array_equal(read, values[10:30])
    del table, cells, part
    assert np.array_equal(read, values[10:30])
    expected = aw.C2UCB().choose(values, k=5, ids=IDS)
    frame = pl.DataFrame(
        {"x": pl.Series(values, dtype=pl.Array(pl.Float32 if dtype is np.float32 else pl.Float64, 4)), "id": IDS}
    )
    assert aw.C2UCB().choose(frame, k=5, features="x", ids="id") == expected
    chunks = pa.concat_tables([pa.table(frame)[:100], pa.table(frame)[100:]])
    assert aw.C2UCB().choose(chunks, k=5, features="x", ids="id") == expected


def test_many_chunks_are_one_table() -> None:
    whole = pa.table(columns())
    parts = pa.concat_tables([whole[:1], whole[1:1], whole[1:170], whole[170:]])
    assert parts.column("age").num_chunks > 2
    choice = {"k": 7, "features": FEATURES, "ids": "name", "eligible": "ok"}
    assert aw.C2UCB().choose(parts, **choice) == aw.C2UCB().choose(whole, **choice)


def test_what_is_wrong_with_a_table_is_said() -> None:
    table = pa.table(columns())
    policy = aw.C2UCB()
    with pytest.raises(KeyError, match='no column "weight"'):
        policy.choose(table, k=1, features=["weight"])
    with pytest.raises(KeyError, match='no column "nobody"'):
        policy.choose(table, k=1, features=FEATURES, ids="nobody")
    with pytest.raises(TypeError, match='"name" is of type'):
        policy.choose(table, k=1)
    with pytest.raises(TypeError, match="ids must be integers or strings"):
        policy.choose(table, k=1, features=FEATURES, ids="price")
    with pytest.raises(TypeError, match="true or false"):
        policy.choose(table, k=1, features=FEATURES, eligible="price")
    with pytest.raises(ValueError, match="row 2, column 1") as caught:
        policy.choose(pa.table({"a": [1.0, 2.0, 3.0], "b": [1.0, 2.0, None]}), k=1)
    assert (caught.value.row, caught.value.column) == (2, 1)
    with pytest.raises(ValueError, match="missing"):
        policy.choose(pa.table({"a": [1.0, 2.0], "id": [1, None]}), k=1, ids="id")
    with pytest.raises(ValueError, match="must not be negative"):
        policy.choose(pa.table({"a": [1.0, 2.0], "id": [1, -1]}), k=1, ids="id")
    with pytest.raises(ValueError, match="appears in rows 0 and 2"):
        policy.choose(pa.table({"a": [1.0, 2.0, 3.0], "id": ["x", "y", "x"]}), k=1, ids="id")
    with pytest.raises(ValueError, match="no arms"):
        policy.choose(pa.table({"a": pa.array([], pa.float64())}), k=1)
    with pytest.raises(TypeError, match="not a table"):
        policy.choose(X, k=1, features=FEATURES)
    with pytest.raises(TypeError, match="not a table"):
        policy.choose(X, k=1, ids="customer")


@pytest.mark.parametrize("ids", [IDS, NAMES])
def test_a_decision_goes_into_every_library(ids: object) -> None:
    d = aw.ArmWiseTS(seed=3).choose(X, k=6, ids=ids)
    names = ["id", "row", "block", "mean", "width", "draw", "score"]
    arrow, pandas, polars = d.to_arrow(), d.to_pandas(), d.to_polars()
    assert arrow.column_names == list(pandas.columns) == polars.columns == names
    expected = [d.ids, d.rows, d.blocks, d.means, d.widths, d.draws, d.scores]
    for name, values in zip(names, expected, strict=True):
        assert arrow[name].to_pylist() == pandas[name].tolist() == polars[name].to_list() == values.tolist()
    rows = duckdb.connect().sql("select count(*), sum(score) from arrow").fetchall()
    assert rows == [(6, pytest.approx(d.objective))]
