"""Runs Schemathesis against a server of its own: every route, all checks, with stateful links.

    run.py ARMWISE SCHEMATHESIS [SECONDS]

ARMWISE is the program, SCHEMATHESIS the command `st`. A route that answers with 5xx, or with a status or body that the
document does not have, or that lets somebody in without a token, fails it.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

HERE = Path(__file__).resolve().parent


def ask(address: str, token: str, method: str, path: str, body: object = None) -> bytes:
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(address + path, data, headers, method=method)
    with urllib.request.urlopen(request, timeout=120) as answer:
        return answer.read()


def ready(address: str) -> None:
    for _ in range(1200):
        try:
            with urllib.request.urlopen(address + "/readyz", timeout=5):
                return
        except OSError:
            time.sleep(0.1)
    raise SystemExit("the server is not ready")


def main() -> int:
    armwise, schemathesis = (str(Path(given).absolute()) for given in sys.argv[1:3])
    seconds = int(sys.argv[3]) if len(sys.argv) > 3 else 45
    with tempfile.TemporaryDirectory() as data:
        add = [armwise, "token", "add", "tester", "--scope", "admin", "--data", data]
        token = subprocess.run(add, check=True, capture_output=True, text=True).stdout.strip()
        serve = [armwise, "serve", "--data", data, "--listen", "127.0.0.1:0", "--quiet"]
        server = subprocess.Popen(serve, stdout=subprocess.PIPE, text=True)
        try:
            assert server.stdout is not None
            address = server.stdout.readline().split()[-1]
            ready(address)
            # Something to find: a campaign with decisions, some answered, and a catalogue.
            arms = [{"id": f"a{i}", "features": [0.1 * i, 0.5, 0.2]} for i in range(6)]
            ask(address, token, "PUT", "/v1/campaigns/shop", {"dim": 3})
            ask(address, token, "PUT", "/v1/campaigns/shop/arms", {"arms": arms})
            for _ in range(3):
                decided = json.loads(
                    ask(address, token, "POST", "/v1/campaigns/shop/decisions", {"k": 2, "arms": arms})
                )
                chosen = decided["arms"][0]["id"]
                path = f"/v1/campaigns/shop/decisions/{decided['decision']}/rewards"
                ask(address, token, "PUT", path, {"rewards": {chosen: 1.0}})
            command = [
                schemathesis, "--config-file", str(HERE / "schemathesis.toml"), "run", address + "/openapi.json",
                "--header", f"Authorization: Bearer {token}", "--checks", "all", "--max-time", str(seconds),
                "--request-timeout", "120", "--seed", "1", "--report-dir", data,
            ]  # fmt: skip
            hooks = {**os.environ, "SCHEMATHESIS_HOOKS": str(HERE / "hooks.py")}
            code = subprocess.run(command, check=False, cwd=data, env=hooks).returncode
            if server.poll() is not None:
                print("the server has ended", file=sys.stderr)
                return 1
            return code
        finally:
            server.terminate()
            server.wait(timeout=60)


if __name__ == "__main__":
    sys.exit(main())
