"""Choosing from a table that is spread over the workers of Dask: the decision of one machine, to the bit.

`armwise.parts` are plain functions on Arrow batches, so Ray Data does it the same way, with `map_batches` in place of
`delayed`. Run it with `python examples/parts_on_dask.py`; it needs dask and pyarrow.
"""

from __future__ import annotations

import dask
import numpy as np
import pyarrow as pa

import armwise as aw
from armwise import parts

ROWS, PARTS = 100_000, 8


def part(number: int) -> pa.Table:
    """A part of the table, as a worker would read it from its own file."""
    draw = np.random.default_rng(number)
    first = number * ROWS // PARTS
    columns = {name: draw.normal(size=ROWS // PARTS) for name in ("age", "spent", "visits")}
    return pa.table({"customer": range(first, first + ROWS // PARTS), **columns})


def candidates(choice: parts.Choice, number: int) -> parts.Kept:
    return choice.candidates(part(number).to_batches())


def main() -> None:
    features, constraint = ["age", "spent", "visits"], aw.Assignment(quotas=[300, 200])
    policy = aw.ArmWiseTS(blocks=2, seed=7)
    choice = parts.Choice.of(policy, ids="customer", features=features, constraint=constraint)
    # Any rows that are spread over the table do as a sample; it only guesses which scores matter.
    choice = choice.guess(pa.concat_tables([part(number).slice(0, 1_000) for number in range(PARTS)]), 8_000 / ROWS)
    decision = None
    while decision is None:
        kept = dask.compute(*[dask.delayed(candidates)(choice, number) for number in range(PARTS)])
        decision, choice = choice.decide(kept)
    print(f"{decision} from {sum(map(len, kept))} candidates of {ROWS} rows")
    whole = pa.concat_tables([part(number) for number in range(PARTS)])
    alone = aw.ArmWiseTS(blocks=2, seed=7).choose(whole, ids="customer", features=features, constraint=constraint)
    assert alone.ids.tolist() == decision.ids.tolist()
    assert alone.scores.tobytes() == decision.scores.tobytes()
    print("the same as on one machine")


if __name__ == "__main__":
    main()
