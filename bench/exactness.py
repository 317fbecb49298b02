"""Every constraint against HiGHS on random small instances: the same objective, or infeasible on both sides.

Each constraint is written here a second time, as the rows of a 0-1 program over the arms, from
its documentation alone. Scores and costs are multiples of 1/64, so sums are exact and no tolerance hides a difference;
many are equal, so ties are everywhere. Infeasible quotas must come with a reason, which is recounted.

    bench/exactness.py [COUNT]      COUNT instances of each constraint, 1,000 unless given
"""
import sys
from collections import Counter

import numpy as np
from common import solve
from scipy import optimize

INF = np.inf


def instance(rng, blocks):
    """Scores with ties, negative ones and forbidden ones, and two columns."""
    rows = int(rng.integers(1, 9))
    scores = rng.integers(-3, 6, (rows, blocks)) / 4 if rng.random() < 0.7 else rng.integers(-64, 128, (rows, blocks)) / 64
    forbidden = rng.random((rows, blocks)) < rng.choice([0.0, 0.2, 0.6])
    columns = {"cost": rng.integers(0, 64, rows) / 64, "region": rng.integers(0, 3, rows), "city": None}
    columns["age"] = rng.integers(0, 3, rows)
    columns["city"] = columns["region"] * 2 + rng.integers(0, 2, rows)  # cities nest in regions
    return scores, forbidden, columns


def limits(rng, most):
    """A random range of counts."""
    least = int(rng.integers(0, most + 1))
    return [(least, least), (0, least), (least, INF), (min(least, 1), least + 1)][rng.integers(4)]


def top_k(rng, scores, columns):
    k, at_most = int(rng.integers(1, scores.size + 2)), bool(rng.random() < 0.5)
    everything = np.ones(scores.shape)
    return {"kind": "top-k", "k": k, "at_most": at_most}, [(everything, 0 if at_most else k, k)]


def assignment(rng, scores, columns):
    n, blocks = scores.shape
    per_row = int(rng.integers(1, blocks + 1))
    quotas, rows = [], []
    for block in range(blocks):
        least, most = limits(rng, n + 1 if rng.random() < 0.2 else max(1, n // 2))
        quotas.append(least if least == most else {"min": least, **({} if most == INF else {"max": int(most)})})
        rows.append((of(scores, block=block), least, most))
    rows += [(of(scores, row=row), 0, per_row) for row in range(n)]
    return {"kind": "assignment", "quotas": quotas, "per_row": per_row}, rows


def groups(rng, scores, columns):
    """An assignment with nested groups of rows, over all blocks or in one."""
    constraint, rows = assignment(rng, scores, columns)
    constraint["groups"] = []
    for name, count in (("region", 3), ("city", 6)):
        for value in range(count):
            if rng.random() < 0.3:
                least, most = limits(rng, 2)
                block = int(rng.integers(scores.shape[1])) if rng.random() < 0.5 else None
                group = {"column": name, "value": value, "min": least, **({} if most == INF else {"max": int(most)})}
                constraint["groups"].append(group if block is None else {**group, "block": block})
                rows.append((inside(scores, columns[name] == value, block), least, most))
    return constraint, rows


def crossing(rng, scores, columns):
    """The same with groups of another column, which may cross the regions."""
    constraint, rows = groups(rng, scores, columns)
    for value in range(3):
        least, most = limits(rng, 2)
        group = {"column": "age", "value": value, "min": least, **({} if most == INF else {"max": int(most)})}
        constraint["groups"].append(group)
        rows.append((inside(scores, columns["age"] == value, None), least, most))
    return constraint, rows


def inside(scores, members, block):
    """1 for the arms of these rows, in one block or in all."""
    here = np.broadcast_to(members[:, None], scores.shape).astype(float)
    return here if block is None else here * of(scores, block=block)


def quotas(rng, scores, columns):
    n, _ = scores.shape
    groups, rows = [], []
    for name, count in (("region", 3), ("city", 6)):
        for value in range(count):
            if rng.random() < 0.3:
                least, most = limits(rng, 1)
                most = {} if most == INF else {"max": int(most)}
                groups.append({"column": name, "value": value, "min": least, **most})
                inside = np.broadcast_to((columns[name] == value)[:, None], scores.shape).astype(float)
                rows.append((inside, least, most.get("max", INF)))
    k, least = int(rng.integers(1, n + 3)), 0
    constraint = {"kind": "quotas", "k": k, "groups": groups}
    if rng.random() < 0.3:
        least = constraint["min"] = int(rng.integers(0, k + 1))
    return constraint, rows + [(np.ones(scores.shape), least, k)]


def budget(rng, scores, columns):
    n, blocks = scores.shape
    cost = np.broadcast_to(columns["cost"][:, None], scores.shape)
    constraint, rows = {"kind": "budget", "cost": "cost", "budget": float(rng.integers(0, 64 * n) / 64)}, []
    rows.append((cost, 0, constraint["budget"]))
    if rng.random() < 0.5:
        constraint["k"] = int(rng.integers(1, n + 1))
        rows.append((np.ones(scores.shape), 0, constraint["k"]))
    if rng.random() < 0.5:
        constraint["per_row"] = 1
        rows += [(of(scores, row=row), 0, 1) for row in range(n)]
    if rng.random() < 0.5:
        constraint["budgets"] = [float(rng.integers(0, 32 * n) / 64) for _ in range(blocks)]
        rows += [(cost * of(scores, block=block), 0, most) for block, most in enumerate(constraint["budgets"])]
    return constraint, rows


def linear(rng, scores, columns):
    n, _ = scores.shape
    cost = np.broadcast_to(columns["cost"][:, None], scores.shape)
    low, high = float(rng.integers(-32, 64) / 64), float(rng.integers(0, 64 * n) / 64)
    low = min(low, high)
    least, most = sorted(int(x) for x in rng.integers(0, n + 2, 2))
    first = of(scores, row=0) * of(scores, block=0) + of(scores, row=n - 1) * of(scores, block=0)
    terms = [{"arm": 0, "coefficient": 1}, {"arm": n - 1, "coefficient": 1}]
    rows = [{"column": "cost", "lo": low, "hi": high}, {"every": 1, "lo": least, "hi": most},
            {"every": 1, "per_row": True, "hi": 1}, {"terms": terms, "hi": 1}]
    written = [(cost, low, high), (np.ones(scores.shape), least, most), (first, -INF, 1)]
    return {"kind": "linear", "rows": rows}, written + [(of(scores, row=row), 0, 1) for row in range(n)]


def of(scores, row=slice(None), block=slice(None)):
    """1 for the arms of a row or of a block, 0 for the others."""
    ones = np.zeros(scores.shape)
    ones[row, block] = 1.0
    return ones


def highs(scores, forbidden, rows):
    """The best objective of a 0-1 program, or None if there is no solution."""
    constraints = [optimize.LinearConstraint(np.array([row.ravel() for row, _, _ in rows]),
                                             [low for _, low, _ in rows], [high for _, _, high in rows])]
    upper = np.where(forbidden, 0.0, 1.0).ravel()
    found = optimize.milp(-np.where(forbidden, 0.0, scores).ravel(), constraints=constraints, integrality=1,
                          bounds=optimize.Bounds(0, upper), options={"mip_rel_gap": 0})
    if found.status == 2:
        return None
    assert found.status == 0, found.message
    return -found.fun


def limit_of(limit, constraint, scores, columns):
    """The arms that a named limit counts, and its bounds."""
    if "block" in limit:
        quota = constraint["quotas"][limit["block"]]
        bounds = (quota, quota) if isinstance(quota, int) else (quota["min"], quota.get("max", INF))
        return of(scores, block=limit["block"]), bounds
    named = limit["group"]
    group = next(group for group in constraint["groups"]
                 if (group["column"], [group["value"]], group.get("block"))
                 == (named["column"], named["values"], named.get("block")))
    return inside(scores, columns[group["column"]] == group["value"], group.get("block")), (group["min"], group.get("max", INF))


def recount(reason, constraint, rows, forbidden, columns):
    """Whether the numbers of a reason are right and really exclude every super arm."""
    allowed = ~forbidden
    match reason["reason"]:
        case "too-few-arms":
            return reason["eligible"] == allowed.sum() < reason["needed"] == constraint["k"]
        case "too-few-rows":
            inside = allowed[:, reason["blocks"]].sum(axis=1)
            places = np.minimum(inside, constraint["per_row"]).sum()
            least = [quota if isinstance(quota, int) else quota["min"] for quota in constraint["quotas"]]
            needed = sum(least[block] for block in reason["blocks"])
            eligible = (inside > 0).sum()
            return (eligible, places, needed) == (reason["rows"], reason["places"], reason["needed"]) and needed > places
        case "contradiction":
            minima = [limit_of(limit, constraint, allowed, columns) for limit in reason["minima"]]
            maxima = [limit_of(limit, constraint, allowed, columns) for limit in reason["maxima"]]
            gains = sum(arms for arms, _ in minima) - sum(arms for arms, _ in maxima)
            gains = np.sort(np.where(allowed, np.maximum(gains, 0), 0), axis=1)[:, ::-1]
            by_row = gains[:, : constraint["per_row"]].sum(axis=1)
            needed, most = sum(bounds[0] for _, bounds in minima), sum(bounds[1] for _, bounds in maxima)
            found = (needed, most, (by_row > 0).sum(), by_row.sum())
            return found == tuple(reason[name] for name in ("needed", "allowed", "rows", "places")) and needed > most + by_row.sum()
        case "crossing":
            return reason["limits"] == len(constraint["quotas"]) + len(constraint["groups"])
        case "group-minimum":
            return reason["choosable"] < reason["needed"] and reason["choosable"] <= reason["eligible"]
        case "group-maximum":
            return reason["allowed"] < reason["needed"]
        case "linear-row":
            low, high = (-INF if reason["lo"] is None else reason["lo"]), (INF if reason["hi"] is None else reason["hi"])
            return reason["most"] < low or reason["least"] > high
        case "linear-rows":
            return 0 < reason["rows"] <= len(rows)  # rows without an eligible arm are left out
    return False


def main(count):
    rng = np.random.default_rng(11)
    for make in (top_k, assignment, groups, crossing, quotas, budget, linear):
        cases, problems = [], []
        for _ in range(count):
            scores, forbidden, columns = instance(rng, int(rng.integers(1, 4)))
            constraint, rows = make(rng, scores, columns)
            cases.append((constraint, rows, scores, forbidden, columns))
            given = [None if bad else float(score) for score, bad in zip(scores.ravel(), forbidden.ravel(), strict=True)]
            problems.append({"constraint": constraint, "blocks": scores.shape[1], "scores": given,
                             "columns": {name: list(map(float, values)) for name, values in columns.items()}})
        seen = Counter()
        for answer, case, problem in zip(solve(problems), cases, problems, strict=True):
            constraint, rows, scores, forbidden, columns = case
            best = highs(scores, forbidden, rows)
            if best is None or "infeasible" in answer:
                good = best is None and "infeasible" in answer
                good = good and recount(answer["infeasible"], constraint, rows, forbidden, columns)
                seen["infeasible"] += 1
            else:
                chosen = np.zeros(scores.shape)
                for row, block in answer["chosen"]:
                    chosen[row, block] += 1
                kept = all(low - 1e-9 <= (row * chosen).sum() <= high + 1e-9 for row, low, high in rows)
                whole = chosen.max(initial=0) <= 1 and not chosen[forbidden].any()
                good = kept and whole and abs((scores * chosen).sum() - answer["objective"]) < 1e-9
                good = good and answer["optimal"] and abs(answer["objective"] - best) < 1e-7
                seen["optimal"] += 1
            if not good:
                sys.exit(f"differs: HiGHS says {best}\nproblem {problem}\nanswer {answer}")
        print(f"{make.__name__:<11} {count} instances agree with HiGHS: {dict(seen)}", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1000)
