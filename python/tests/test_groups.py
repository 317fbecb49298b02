"""Groups of arms: by numbers or strings, with one rule for minima, and no limit that a misspelling drops."""

from __future__ import annotations

import itertools
import pickle

import numpy as np
import pytest

import armwise as aw

SCORES = np.array([0.9, 0.8, 0.7, 0.6, 0.5, 0.4])
REGIONS = ["north", "north", "north", "south", "south", "west"]
CODES = [3.0, 3.0, 3.0, 8.0, 8.0, 5.0]


def brute_force(scores: np.ndarray, allowed) -> list[int]:
    """The best of all sets of rows that are allowed, by falling score."""
    rows = range(len(scores))
    sets = itertools.chain.from_iterable(itertools.combinations(rows, size) for size in range(len(scores) + 1))
    best = max((chosen for chosen in sets if allowed(chosen)), key=lambda chosen: scores[list(chosen)].sum())
    return sorted(best, key=lambda row: -scores[row])


@pytest.mark.parametrize("regions", [REGIONS, np.array(REGIONS), np.array(REGIONS, dtype=object)])
def test_groups_of_strings_are_groups(regions: object) -> None:
    groups = [aw.Group("region", value="north", max=1), aw.Group("region", value=["south", "west"], exactly=2)]
    found = aw.solve(SCORES, aw.Quotas(groups=groups), columns={"region": regions})

    def allowed(chosen: tuple[int, ...]) -> bool:
        north = sum(REGIONS[row] == "north" for row in chosen)
        return north <= 1 and len(chosen) - north == 2

    assert found.rows.tolist() == brute_force(SCORES, allowed)
    assert set(found.prices) <= {"region = north", "region = south, west"}
    assert "region = north" in found.prices


def test_groups_of_strings_in_tables_and_dictionaries() -> None:
    pa, pd, pl = pytest.importorskip("pyarrow"), pytest.importorskip("pandas"), pytest.importorskip("polars")
    columns = {"x": SCORES, "region": REGIONS}
    arrow = pa.table(columns)
    encoded = arrow.set_column(1, "region", arrow["region"].dictionary_encode())
    as_dict = {"kind": "quotas", "k": 4, "groups": [{"column": "region", "max": 1}]}
    as_data = aw.Quotas(k=4, groups=[aw.Group("region", max=1)])
    policy = aw.Greedy().partial_fit({"x": [1.0]}, [1.0])
    for table in (arrow, encoded, pd.DataFrame(columns), pl.DataFrame(columns), columns):
        for constraint in (as_dict, as_data):
            d = policy.choose(table, constraint=constraint, features=["x"], t=1)
            assert d.rows.tolist() == [0, 3, 5]
            assert {"region = north", "region = south"} < set(d.prices)
            assert set(d.prices) <= {"k", "region = north", "region = south", "region = west"}
            assert set(pickle.loads(pickle.dumps(d)).prices) == set(d.prices)


def test_a_dictionary_finds_the_columns_of_a_table() -> None:
    pl = pytest.importorskip("polars")
    table = pl.DataFrame({"x": SCORES, "price": [1.0, 2, 3, 1, 2, 3]})
    policy = aw.Greedy().partial_fit({"x": [1.0]}, [1.0])
    d = policy.choose(table, constraint={"kind": "budget", "cost": "price", "budget": 3.0}, features=["x"])
    assert d.rows.tolist() == [0, 1]
    assert len(policy.choose(table, constraint={"kind": "budget", "cost": "price", "budget": 3.0})) == 2


MISSPELT = {
    "string value": (aw.Group("region", value="nroth", max=1), REGIONS, ValueError, "no arm has region = 'nroth'"),
    "one of several": (aw.Group("region", value=["north", "sotuh"], max=1), REGIONS, ValueError, "'sotuh'"),
    "number": (aw.Group("region", value=4, max=1), CODES, ValueError, r"no arm has region = 4; the column has 3\.0"),
    "string for numbers": (aw.Group("region", value="north", max=1), CODES, TypeError, "holds numbers"),
    "number for strings": (aw.Group("region", value=3, max=1), REGIONS, TypeError, "holds strings"),
    "column": (aw.Group("regoin", value=3, max=1), CODES, KeyError, "regoin"),
    "string of a column": (aw.Group("regoin", value="north", max=1), REGIONS, (KeyError, TypeError), "regoin|region"),
}


@pytest.mark.parametrize(("group", "column", "kind", "text"), MISSPELT.values(), ids=MISSPELT)
def test_a_misspelt_group_is_an_error(group: aw.Group, column: list, kind: type, text: str) -> None:
    with pytest.raises(kind, match=text):
        aw.solve(SCORES, aw.Quotas(k=3, groups=[group]), columns={"region": column})
    with pytest.raises(kind, match=text):
        aw.C2UCB().choose(np.eye(6), constraint=aw.Quotas(k=3, groups=[group]), columns={"region": column})


@pytest.mark.parametrize("column", [REGIONS, CODES], ids=["strings", "numbers"])
@pytest.mark.parametrize("eligible", [0, 1])
@pytest.mark.parametrize("listed", [True, False])
def test_too_few_eligible_members_are_one_error_be_it_one_or_none(column: list, eligible: int, listed: bool) -> None:
    """Exactly 2 of each region, of which the last three arms, one south and one west, are not enough."""
    mask = np.array([True, True, True, eligible == 1, False, eligible == 1])
    values = [column[0], column[3], column[5]] if listed else [None]
    constraint = aw.Quotas(groups=[aw.Group("region", value=value, exactly=2) for value in values])
    shown = "west" if column is REGIONS else "5"
    with pytest.raises(aw.InfeasibleError, match=f"region = (south|8|{shown}): at least 2 .* only {eligible} can"):
        aw.C2UCB().choose(np.eye(6), constraint=constraint, eligible=mask, columns={"region": column})
    with pytest.raises(aw.InfeasibleError, match=f"only {eligible} can"):
        aw.solve(np.where(mask, SCORES, -np.inf), constraint, columns={"region": column})
    fill = aw.Quotas(groups=constraint.groups, on_infeasible="fill")
    d = aw.C2UCB().choose(np.eye(6), constraint=fill, eligible=mask, columns={"region": column})
    assert d.missing == {
        f"region = {value if column is REGIONS else int(value)}": (2, eligible) for value in dict.fromkeys(column[3:])
    }
    assert aw.solve(np.where(mask, SCORES, -np.inf), fill, columns={"region": column}).missing == d.missing


def test_strings_are_for_groups_only() -> None:
    with pytest.raises(TypeError, match="column 'price' holds strings: only a Group"):
        aw.solve(SCORES, aw.Budget(cost="price", budget=2), columns={"price": REGIONS})
