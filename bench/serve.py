"""What the service does in a second: `make bench-serve`; `--quick` is the short form that the tests run.

wrk, a process of its own, sends decisions and rewards to `armwise serve` on this machine, every commit synced, and to
the same server with the journal switched off. The ratio of the two is what durability costs.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
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
    """Rewards for decisions that are made now, one decision at a time or many in a request."""
    draw, file = random.Random(2), folder / f"rewards-{at_once}.txt"
    arms = [{"id": f"a{i}", "features": features(draw, 11)} for i in range(100)]
    decided = []
    for number in range(count):
        told = put(
            server, f"/v1/campaigns/{campaign}/decisions", {"arms": arms, "k": 5}, "POST", f"prep{at_once}-{number}"
        )
        decided.append((told["decision"], [arm["id"] for arm in told["arms"]]))
    with file.open("w") as out:
        if at_once == 1:
            for decision, ids in decided:
                for arm in ids:
                    body = json.dumps({"rewards": {arm: draw.random()}})
                    out.write(f"PUT /v1/campaigns/{campaign}/decisions/{decision}/rewards {body}\n")
        else:
            for first in range(0, len(decided), at_once):
                lines = [
                    {"decision": decision, "id": ids[0], "reward": draw.random()}
                    for decision, ids in decided[first : first + at_once]
                ]
                out.write(f"POST /v1/campaigns/{campaign}/rewards {json.dumps({'rewards': lines})}\n")
    return file


def measure(quick: bool) -> list[dict[str, Any]]:
    seconds = 2 if quick else 15
    rows: list[dict[str, Any]] = []
    catalogue = 2_000 if quick else 100_000
    for journal in ("on", "off"):
        folder = Path(tempfile.mkdtemp(prefix="armwise-bench-"))
        server = Server(folder / "data", "--quiet", *([] if journal == "on" else ["--without-journal"]))
        try:
            server.start().wait_until_ready()
            put(server, "/v1/campaigns/slates", rules(11))
            bodies = slates(folder)
            for connections in (1, 64):
                told = wrk(server, "/v1/campaigns/slates/decisions", bodies, "body", connections, seconds)
                rows.append(
                    {"case": "5 of 100 arms in the body, d = 11", "journal": journal, "connections": connections} | told
                )
            put(server, "/v1/campaigns/items", rules(51))
            draw = random.Random(3)
            arms = [{"id": f"i{i}", "features": features(draw, 51)} for i in range(catalogue)]
            put(server, "/v1/campaigns/items/arms", {"arms": arms})
            one = folder / "one.jsonl"
            one.write_text('{"k": 10}\n')
            for connections in (1, 64):
                told = wrk(server, "/v1/campaigns/items/decisions", one, "body", connections, seconds)
                rows.append(
                    {"case": f"10 of a catalogue of {catalogue:,} x 51", "journal": journal, "connections": connections}
                    | told
                )
            if journal == "on":
                for at_once, count in ((1, 200 if quick else 2_000), (100, 400 if quick else 4_000)):
                    lines = rewards(server, "slates", folder, at_once, count)
                    told = wrk(server, "/", lines, "path", 64, seconds)
                    rows.append(
                        {"case": f"rewards, {at_once} in a request", "journal": journal, "connections": 64} | told
                    )
            server.stop(60)
        finally:
            server.kill()
            shutil.rmtree(folder, ignore_errors=True)
    return rows


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="two seconds each, a small catalogue, no verdict")
    parser.add_argument("--json", type=Path, help="where to write the rows")
    given = parser.parse_args()
    if shutil.which("wrk") is None:
        subprocess.run(
            "apt-get update -qq && apt-get install -y -qq wrk", shell=True, check=True, stdout=subprocess.DEVNULL
        )
    began = time.time()
    rows = measure(given.quick)
    print(f"{'case':44} {'journal':8} {'conns':>5} {'per s':>9} {'p50 ms':>8} {'p99 ms':>8} {'p99.9':>8} {'errors':>7}")
    for row in rows:
        print(
            f"{row['case']:44} {row['journal']:8} {row['connections']:5} {row['rate']:9.0f} {row['p50']:8.2f}"
            f" {row['p99']:8.2f} {row['p999']:8.2f} {row['errors']:7.0f}"
        )
    rate = {(row["case"], row["journal"], row["connections"]): row["rate"] for row in rows}
    ratios = {
        case: rate[case, "on", 64] / rate[case, "off", 64]
        for case, journal, connections in rate
        if (journal, connections) == ("off", 64)
    }
    for case, ratio in ratios.items():
        print(f"{case}: with the journal {ratio:.2f} of the throughput without (bar 0.5)")
    print(f"{time.time() - began:.0f} s; {os.cpu_count()} cores")
    if given.json:
        given.json.write_text(json.dumps(rows, indent=1))
    failed = any(row["errors"] > 0 for row in rows)
    return 1 if failed or (not given.quick and min(ratios.values()) < 0.5) else 0


if __name__ == "__main__":
    sys.exit(main())
