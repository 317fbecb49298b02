"""What the benchmarks share: the programs of the library, and the machine's name."""
import json
import os
import platform
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def program(name):
    """The path of an example of the library, built."""
    command = ["cargo", "build", "--release", "--locked", "--quiet", "-p", "armwise", "--example", name]
    subprocess.run(command, cwd=ROOT, check=True)
    return ROOT / "target" / "release" / "examples" / name


def solve(problems):
    """The library's answers to a list of problems."""
    text = "\n".join(json.dumps(problem) for problem in problems)
    done = subprocess.run([program("solve")], input=text, capture_output=True, text=True, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def machine():
    model = platform.processor() or platform.machine()
    info = Path("/proc/cpuinfo")
    if info.exists():
        names = [line.split(":")[1].strip() for line in info.read_text().splitlines() if line.startswith("model name")]
        model = names[0] if names else model
    return f"{model}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}, {platform.system()}"
