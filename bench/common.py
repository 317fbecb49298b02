"""What the benchmarks share: the programs of the library, the bars, and the machine's name."""
import json
import os
import platform
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def program(name):
    """The path of an example of the library, built with the features that all other commands use (see the Makefile)."""
    command = ["cargo", "build", "--release", "--locked", "--quiet", "--workspace", "--example", name]
    subprocess.run(command, cwd=ROOT, check=True)
    return ROOT / "target" / "release" / "examples" / name


def solve(problems):
    """The library's answers to a list of problems."""
    text = "\n".join(json.dumps(problem) for problem in problems)
    done = subprocess.run([program("solve")], input=text, capture_output=True, text=True, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def free_numpy():
    """Starts this program anew without settings of the environment that tell OpenBLAS which kernels to take."""
    held = [name for name in ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE") if os.environ.pop(name, None)]
    if held:
        sys.stdout.flush()
        os.execv(sys.executable, [sys.executable, *sys.argv])


class Bars:
    """What a benchmark must reach, and what it reached."""

    def __init__(self):
        self.rows = []

    def at_least(self, what, value, bar):
        self.rows.append((f"{what}: {value:.0f}, at least {bar:.0f}", value >= bar))

    def at_most(self, what, value, bar):
        self.rows.append((f"{what}: {value:.2g}, at most {bar:.2g}", value <= bar))

    def report(self, check):
        """Says which bars are met; with `check`, ends the program with 1 if one is not."""
        print("\nBars")
        for text, met in self.rows:
            print(f"  {'met   ' if met else 'MISSED'}  {text}")
        if check and not all(met for _, met in self.rows):
            sys.exit(1)


def machine():
    model = platform.processor() or platform.machine()
    info = Path("/proc/cpuinfo")
    if info.exists():
        names = [line.split(":")[1].strip() for line in info.read_text().splitlines() if line.startswith("model name")]
        model = names[0] if names else model
    return f"{model}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}, {platform.system()}"
