"""A made-up market for the walk-through: 50,000 customers, and how they answer.

The chance of an answer is linear in the columns, so the effects that armwise reports have true
values to be compared with. Everything is a pure function of the seed.

    customers.py table OUT                        the table of customers
    customers.py workbook OUT                     the same table as an xlsx workbook
    customers.py answers SENDS OUT                who answers: decision and reward, silence left out
    customers.py outcomes HOLD_OUT OUT            what the hold-out does without a send: reward or 0 by decision
    customers.py check REPORT                     signs and intervals of a `report --json` against the truth
"""

import csv
import hashlib
import json
import random
import sys
import zipfile
from collections.abc import Callable, Iterator, Mapping
from typing import Any

CUSTOMERS = 50_000
ORGANIC = 0.4
REGIONS = ["north", "south", "east", "west"]
PLANS = ["basic", "plus", "family"]
BASE = {"mail": 0.22, "call": 0.30, "gift": 0.26}
# By how much a unit of each column changes the chance of an answer, for each promotion.
AGE = {"mail": 0.003, "call": 0.0, "gift": -0.003}
VISITS = {"mail": 0.0, "call": 0.015, "gift": 0.005}
REGION = {
    "mail": {"north": 0.10, "south": 0.0, "east": -0.05, "west": 0.0},
    "call": {"north": 0.0, "south": 0.10, "east": 0.0, "west": -0.05},
    "gift": {"north": -0.05, "south": 0.0, "east": 0.12, "west": 0.0},
}
PLAN = {
    "mail": {"basic": 0.0, "plus": 0.05, "family": 0.0},
    "call": {"basic": -0.05, "plus": 0.0, "family": 0.10},
    "gift": {"basic": 0.05, "plus": 0.0, "family": 0.0},
}


def customers() -> Iterator[dict[str, Any]]:
    market = random.Random(2024)
    for number in range(CUSTOMERS):
        yield {
            "customer": f"C{number:05d}",
            "age": market.randint(18, 80),
            "visits": market.randint(0, 12),
            "region": market.choices(REGIONS, weights=[3, 4, 2, 1])[0],
            "plan": market.choices(PLANS, weights=[5, 3, 2])[0],
            "may_call": market.choice(["true", "true", "false"]),
        }


def chance(customer: Mapping[str, Any], promotion: str) -> float:
    return (
        BASE[promotion]
        + AGE[promotion] * (int(customer["age"]) - 49)
        + VISITS[promotion] * (int(customer["visits"]) - 6)
        + REGION[promotion][customer["region"]]
        + PLAN[promotion][customer["plan"]]
    )


def luck(text: str) -> float:
    """A number in [0, 1) that depends on the text alone."""
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big") / 2**64


def table(out: str) -> None:
    with open(out, "w", newline="") as file:
        rows = csv.DictWriter(file, ["customer", "age", "visits", "region", "plan", "may_call"])
        rows.writeheader()
        rows.writerows(customers())


def workbook(out: str) -> None:
    """The least that a spreadsheet program opens: ids and categories are texts, ages and visits numbers."""
    main = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    package = "http://schemas.openxmlformats.org/package/2006"
    office = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    types = "application/vnd.openxmlformats-officedocument.spreadsheetml"

    def cell(value: Any) -> str:
        return f"<c><v>{value}</v></c>" if isinstance(value, int) else f'<c t="inlineStr"><is><t>{value}</t></is></c>'

    def relation(kind: str, target: str) -> str:
        one = f'<Relationship Id="rId1" Type="{office}/{kind}" Target="{target}"/>'
        return f'<Relationships xmlns="{package}/relationships">{one}</Relationships>'

    people = list(customers())
    rows = "".join(f"<row>{''.join(map(cell, row))}</row>" for row in [list(people[0])] + [p.values() for p in people])
    sheets = '<sheets><sheet name="Customers" sheetId="1" r:id="rId1"/></sheets>'
    parts = [("/xl/workbook.xml", "sheet.main+xml"), ("/xl/worksheets/sheet1.xml", "worksheet+xml")]
    overrides = "".join(f'<Override PartName="{part}" ContentType="{types}.{kind}"/>' for part, kind in parts)
    rels = '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("[Content_Types].xml", f'<Types xmlns="{package}/content-types">{rels}{overrides}</Types>')
        file.writestr("_rels/.rels", relation("officeDocument", "xl/workbook.xml"))
        file.writestr("xl/workbook.xml", f'<workbook xmlns="{main}" xmlns:r="{office}">{sheets}</workbook>')
        file.writestr("xl/_rels/workbook.xml.rels", relation("worksheet", "worksheets/sheet1.xml"))
        file.writestr(
            "xl/worksheets/sheet1.xml", f'<worksheet xmlns="{main}"><sheetData>{rows}</sheetData></worksheet>'
        )


def rewards(decisions: str, share: float) -> Iterator[tuple[str, int]]:
    """What each decision of a file brings; `share` is how much of a promotion's chance its customers have."""
    market = {customer["customer"]: customer for customer in customers()}
    with open(decisions, newline="") as file:
        for row in csv.DictReader(file):
            # Without the campaign's tag, which is another one every time.
            decision = row["decision"].rsplit("-", 1)[0]
            yield row["decision"], int(luck(decision) < share * chance(market[row["customer"]], row["promotion"]))


def write(out: str, rows: Iterator[tuple[str, int]]) -> None:
    with open(out, "w", newline="") as file:
        written = csv.writer(file)
        written.writerow(["decision", "reward"])
        written.writerows(rows)


def answers(sends: str, out: str) -> None:
    write(out, (row for row in rewards(sends, 1.0) if row[1]))


def outcomes(hold_out: str, out: str) -> None:
    # A customer of the hold-out gets nothing and buys anyway, less often.
    write(out, rewards(hold_out, ORGANIC))


def true_effect(line: Mapping[str, str]) -> float:
    promotion, column, change = line["promotion"], line["column"], line["change"]
    if column in ("age", "visits"):
        sd = float(change.split("(")[1].rstrip(")"))
        return {"age": AGE, "visits": VISITS}[column][promotion] * sd
    if column in ("region", "plan"):
        level, common = change.split(" instead of ")
        values = {"region": REGION, "plan": PLAN}[column][promotion]
        return values[level] - values[common]
    raise ValueError(f"{column} is not a column of this market")


def check(path: str) -> None:
    with open(path) as file:
        report = json.load(file)
    lines, whole = report["effects"], report["uplift"][-1]
    assert whole["refused"] is None, f"no uplift: {whole['refused']}"
    inside = wrong = sure = 0
    for line in lines:
        truth = true_effect(line)
        inside += abs(line["effect"] - truth) <= line["half_width"]
        if abs(truth) >= 0.04:
            wrong += line["effect"] * truth <= 0
            sure += abs(line["effect"]) > line["half_width"]
    large = sum(abs(true_effect(line)) >= 0.04 for line in lines)
    print(f"{len(lines)} effects, {inside} with the truth inside the 95 % interval")
    print(f"{large} large ones: {large - wrong} with the right sign, {sure} with zero outside the interval")
    # Of n effects with 95 % each, fewer than this happens once in a thousand times (binomial).
    least = fewest(len(lines), 0.95, 0.001)
    # What the hold-out lacks is 1 - ORGANIC of what the sends bring.
    expected = (1 - ORGANIC) * whole["sent"]["mean"]
    print(f"uplift {whole['uplift']:.3f} +- {whole['half_width']:.3f}, by construction about {expected:.3f}")
    # Twice the half width is 3.9 standard errors.
    assert abs(whole["uplift"] - expected) <= 2 * whole["half_width"], "the uplift is not what it must be"
    assert wrong == 0, "a large effect has the wrong sign"
    assert inside >= least, f"the truth is inside {inside} of {len(lines)} intervals, at least {least} are needed"


def fewest(n: int, p: float, tail: float) -> int:
    """The smallest count whose lower tail exceeds `tail`."""
    from math import comb

    total = 0.0
    for count in range(n + 1):
        total += comb(n, count) * p**count * (1 - p) ** (n - count)
        if total > tail:
            return count
    return n


if __name__ == "__main__":
    commands: dict[str, Callable[..., None]] = {
        "table": table,
        "workbook": workbook,
        "answers": answers,
        "outcomes": outcomes,
        "check": check,
    }
    commands[sys.argv[1]](*sys.argv[2:])
