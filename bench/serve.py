"""What the service does in a second: `make bench-serve`; `--quick` is a short form without a verdict, run by hand.

wrk, a process of its own, sends decisions and rewards to `armwise serve` on this machine, every commit synced, and to
the same server with the journal switched off. The ratio of the two is what durability costs. While rewards come, it is
also measured how long it takes until the model has one. The two servers take turns, so that a machine that is busy
for a while is so for both.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "python" / "service_tests"))
from server import Server  # noqa: E402

Rules = dict[str, Any]


def features(draw: random.Random, dim: int) -> list[float]:
    return [round(draw.uniform(-1, 1) / dim**0.5, 4) for _ in range(dim)]


def rules(dim: int) -> Rules:
    return {"dim": dim, "seed": 1, "algorithm": {"name": "arm-wise-ts", "lambda": 1.0, "v": 0.1}}


def put(server: Server, path: str, body: object, method: str = "PUT", key: str | None = None) -> Any:
    headers = {"Content-Type": "application/json"} | ({"Idempotency-Key": key} if key else {})
    status, _, answer = server.ask(method, path, json.dumps(body).encode(), headers, timeout=120)
    assert status in (200, 201), (path, status, answer[:500])
    return json.loads(answer)


def wrk(server: Server, path: str, bodies: Path, kind: str, connections: int, seconds: int) -> dict[str, float]:
    command = ["wrk", "-t1", f"-c{connections}", f"-d{seconds}s", "--timeout", "30s", "-s", str(HERE / "serve.lua")]
    command += [f"http://127.0.0.1:{server.port}{path}", "--", str(bodies), kind]
    done = subprocess.run(command, capture_output=True, text=True, timeout=seconds + 60, check=True)
    told: dict[str, float] = json.loads(done.stdout.strip().splitlines()[-1])
    told["rate"] = told["good"] / told["seconds"]
    return told


def slates(folder: Path, count: int = 200) -> Path:
    """Requests with 100 arms of 11 features in the body, 5 to choose."""
    draw, file = random.Random(1), folder / "slates.jsonl"
    arms = [{"id": f"a{i}", "features": features(draw, 11)} for i in range(1000)]
    with file.open("w") as out:
        for _ in range(count):
            out.write(json.dumps({"arms": draw.sample(arms, 100), "k": 5}) + "\n")
    return file


def rewards(server: Server, campaign: str, folder: Path, at_once: int, count: int) -> Path:
    """Rewards for decisions that are made now, one in a request or many; none comes twice."""
    draw, file = random.Random(2), folder / f"rewards-{at_once}.txt"
    arms = [{"id": f"a{i}", "features": features(draw, 11)} for i in range(100)]
    path = f"/v1/campaigns/{campaign}"

    def decide(number: int) -> list[tuple[str, str]]:
        told = put(server, f"{path}/decisions", {"arms": arms, "k": 5}, "POST", f"prep{at_once}-{number}")
        return [(told["decision"], arm["id"]) for arm in told["arms"]]

    with ThreadPoolExecutor(16) as pool, file.open("w") as out:
        chosen = [arm for decided in pool.map(decide, range(count)) for arm in decided]
        if at_once == 1:
            for decision, arm in chosen:
                body = json.dumps({"rewards": {arm: draw.random()}})
                out.write(f"PUT {path}/decisions/{decision}/rewards {body}\n")
        else:
            for first in range(0, len(chosen), at_once):
                lines = [
                    {"decision": decision, "id": arm, "reward": draw.random()}
                    for decision, arm in chosen[first : first + at_once]
                ]
                out.write(f"POST {path}/rewards {json.dumps({'rewards': lines})}\n")
    return file


def behind(server: Server) -> dict[float, int]:
    """How often it took at most so many seconds from a reward until the model had it, by the server's own histogram."""
    _, _, text = server.ask("GET", "/metrics")
    found = re.findall(r'armwise_behind_seconds_bucket\{le="([^"]+)"\} (\d+)', text.decode())
    return {float(bound): int(count) for bound, count in found}


def until_learned(before: dict[float, int], after: dict[float, int]) -> dict[str, float]:
    """The bounds below which half, 99 % and all of the times lie."""
    counts = {bound: after[bound] - before.get(bound, 0) for bound in sorted(after)}
    total = counts[max(counts)]
    within = lambda share: next(bound for bound, count in counts.items() if count >= share * total)  # noqa: E731
    return {"folds": total, "half": within(0.5), "p99": within(0.99), "all": within(1.0)} if total else {}


def measure(quick: bool, rewards_only: bool = False) -> tuple[list[dict[str, Any]], dict[str, float]]:
    seconds, turns = (2, 1) if quick else (10, 3)
    sizes = [2_000] if quick or rewards_only else [2_000, 100_000]
    rows: list[dict[str, Any]] = []
    folder = Path(tempfile.mkdtemp(prefix="armwise-bench-"))
    servers = {
        journal: Server(folder / journal, "--quiet", *([] if journal == "on" else ["--without-journal"]))
        for journal in ("on", "off")
    }
    bodies, one = slates(folder), folder / "one.jsonl"
    one.write_text('{"k": 10}\n')
    try:
        draw = random.Random(3)
        catalogue = [{"id": f"i{i}", "features": features(draw, 51)} for i in range(max(sizes))]
        cases = [("5 of 100 arms in the body, d = 11", "slates", bodies)]
        for server in servers.values():
            server.start().wait_until_ready()
            put(server, "/v1/campaigns/slates", rules(11))
            for size in sizes:
                put(server, f"/v1/campaigns/items{size}", rules(51))
                put(server, f"/v1/campaigns/items{size}/arms", {"arms": catalogue[:size]})
        cases += [(f"10 of a catalogue of {size:,} x 51", f"items{size}", one) for size in sizes]
        cases = [] if rewards_only else cases
        for case, campaign, lines in cases:
            for connections in (1, 64):
                path = f"/v1/campaigns/{campaign}/decisions"
                for turn in range(turns):
                    for journal in ("on", "off") if turn % 2 == 0 else ("off", "on"):
                        told = wrk(servers[journal], path, lines, "body", connections, seconds)
                        rows.append({"case": case, "journal": journal, "connections": connections} | told)
        server = servers["on"]
        before = behind(server)
        # As many as can be learned in so many seconds: a reward that comes again would be cheaper.
        for at_once, count, most in ((1, 200 if quick else 10_000, 5), (100, 400 if quick else 20_000, 2)):
            lines = rewards(server, "slates", folder, at_once, count)
            told = wrk(server, "/", lines, "path", 64, min(seconds, most))
            told["again"] = max(0, int(told["requests"]) - lines.read_text().count("\n"))
            rows.append({"case": f"rewards, {at_once} in a request", "journal": "on", "connections": 64} | told)
        learned = until_learned(before, behind(server))
        for server in servers.values():
            server.stop(60)
    finally:
        for server in servers.values():
            server.kill()
        shutil.rmtree(folder, ignore_errors=True)
    return rows, learned


class BanditDb(Server):
    """A BanditDB that was installed from crates.io, with its limit of requests a second out of the way; it has no option for
    the address that it listens on, so give it a network namespace of its own, with this program inside."""

    def __init__(self, data: Path, command: str) -> None:
        super().__init__(data)
        data.mkdir()
        self.line = [command]
        self.environment |= {"PORT": str(self.port), "DATA_DIR": str(data), "BANDITDB_RATE_LIMIT_PER_SEC": "4000000000"}

    def wait_until_ready(self, seconds: float = 30) -> Server:
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            with contextlib.suppress(OSError):
                if self.ask("GET", "/health")[0] == 200:
                    return self
            time.sleep(0.05)
        raise TimeoutError(f"BanditDB is not ready: {self.tail()}")


def beside(command: str) -> list[dict[str, Any]]:
    """What both can do: one arm of 100 with 11 numbers, and a reward for it. BanditDB has a model for each arm and gets a context;
    armwise has one model and 100 arms with features in its catalogue."""
    folder = Path(tempfile.mkdtemp(prefix="armwise-bench-"))
    draw, rows, fresh = random.Random(4), list[dict[str, Any]](), 30_000
    ours, theirs = Server(folder / "armwise", "--quiet"), BanditDb(folder / "banditdb", command)
    unsafe = Server(folder / "off", "--quiet", "--without-journal")
    one, contexts = folder / "one.jsonl", folder / "contexts.jsonl"
    one.write_text('{"k": 1}\n')
    contexts.write_text(
        "".join(json.dumps({"campaign_id": "c", "context": features(draw, 11)}) + "\n" for _ in range(200))
    )
    try:
        arms = [{"id": f"a{i}", "features": features(draw, 11)} for i in range(100)]
        for server in (ours, unsafe):
            server.start().wait_until_ready()
            put(server, "/v1/campaigns/c", rules(11))
            put(server, "/v1/campaigns/c/arms", {"arms": arms})
        theirs.start().wait_until_ready()
        put(theirs, "/campaign", {"campaign_id": "c", "arms": [arm["id"] for arm in arms], "feature_dim": 11,
                                  "algorithm": "thompson_sampling"}, "POST")  # fmt: skip

        def decide_ours(number: int) -> str:
            told = put(ours, "/v1/campaigns/c/decisions", {"k": 1}, "POST", f"prep-{number}")
            body = json.dumps({"rewards": {told["arms"][0]["id"]: 1.0}})
            return f"PUT /v1/campaigns/c/decisions/{told['decision']}/rewards {body}\n"

        def decide_theirs(number: int) -> str:
            told = put(theirs, "/predict", {"campaign_id": "c", "context": features(random.Random(number), 11)}, "POST")
            return f"POST /reward {json.dumps({'interaction_id': told['interaction_id'], 'reward': 1.0})}\n"

        for turn in range(3):
            for connections in (1, 64):
                for name, server, path, lines in (
                    ("on", ours, "/v1/campaigns/c/decisions", one),
                    ("off", unsafe, "/v1/campaigns/c/decisions", one),
                    ("BanditDB", theirs, "/predict", contexts),
                ):
                    told = wrk(server, path, lines, "body", connections, 5)
                    rows.append({"case": "one arm of 100, d = 11", "journal": name, "connections": connections} | told)
            for name, server, decide in (("on", ours, decide_ours), ("BanditDB", theirs, decide_theirs)):
                with ThreadPoolExecutor(16) as pool:
                    lines = folder / f"{name}-rewards"
                    lines.write_text("".join(pool.map(decide, range(turn * fresh, (turn + 1) * fresh))))
                told = wrk(server, "/", lines, "path", 64, 1)
                told["again"] = max(0, int(told["requests"]) - fresh)
                rows.append({"case": "a reward for it", "journal": name, "connections": 64} | told)
    finally:
        for server in (ours, unsafe, theirs):
            server.kill()
        shutil.rmtree(folder, ignore_errors=True)
    return rows


def middle(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Of the turns of a case the one with the middle rate."""
    turns: dict[tuple[str, str, int], list[dict[str, Any]]] = {}
    for row in rows:
        turns.setdefault((row["case"], row["journal"], row["connections"]), []).append(row)
    ranked = (sorted(own, key=lambda row: row["rate"]) for own in turns.values())
    return [own[len(own) // 2] for own in ranked]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="two seconds each, a small catalogue, no verdict")
    parser.add_argument("--rewards", action="store_true", help="rewards only")
    parser.add_argument("--banditdb", help="only the comparison with this program")
    parser.add_argument("--json", type=Path, help="where to write the rows")
    given = parser.parse_args()
    if shutil.which("wrk") is None:
        subprocess.run(
            "apt-get update -qq && apt-get install -y -qq wrk", shell=True, check=True, stdout=subprocess.DEVNULL
        )
    began = time.time()
    every, learned = (beside(given.banditdb), {}) if given.banditdb else measure(given.quick, given.rewards)
    rows = middle(every)
    print(f"{'case':44} {'journal':8} {'conns':>5} {'per s':>9} {'p50 ms':>8} {'p99 ms':>8} {'p99.9':>8} {'errors':>7}")
    for row in rows:
        print(
            f"{row['case']:44} {row['journal']:8} {row['connections']:5} {row['rate']:9.0f} {row['p50']:8.2f}"
            f" {row['p99']:8.2f} {row['p999']:8.2f} {row['errors']:7.0f}"
            + (f"  {row['again']} of {row['requests']:.0f} requests came again, which is cheaper" if row.get("again") else "")
        )
    rate = {(row["case"], row["journal"], row["connections"]): row["rate"] for row in rows}
    ratios = {
        case: rate[case, "on", 64] / rate[case, "off", 64]
        for case, journal, connections in rate
        if (journal, connections) == ("off", 64)
    }
    for case, ratio in ratios.items():
        print(f"{case}: with the journal {ratio:.2f} of the throughput without (bar 0.5)")
    if learned:
        print(
            f"from a reward until the model has it, {learned['folds']:.0f} times under load: half within"
            f" {learned['half']} s, 99 % within {learned['p99']} s, all within {learned['all']} s (bar 1 s)"
        )
    print(f"{time.time() - began:.0f} s; {os.cpu_count()} cores")
    if given.json:
        given.json.write_text(json.dumps({"rows": every, "learned": learned}, indent=1))
    failed = any(row["errors"] > 0 for row in every)
    if given.banditdb:
        return 1 if failed else 0
    missed = min(ratios.values(), default=1.0) < 0.5 or learned.get("all", 0.0) > 1.0
    return 1 if failed or (not given.quick and missed) else 0


if __name__ == "__main__":
    sys.exit(main())
