"""Counts the instructions of seven small cases and compares them with the counts that are kept in instructions.json.

Times depend on the machine's mood; counts do not. valgrind's callgrind counts one call of the library in each case of
the example `instructions`, on the AVX2 path, which it can follow. A count depends on the compiler too, so its version is
kept with the counts and a difference is said.

    bench/instructions.py            exits with 1 where a count has grown by more than 3 percent
    bench/instructions.py --write    keeps the present counts: after a change that is worth its instructions
    bench/instructions.py --cases    says only whether a count is kept for every case
"""
import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from common import ROOT, program

KEPT = ROOT / "bench" / "instructions.json"
CASES = {
    "normals": "10,000 normal numbers",
    "small": "100 x 11, k = 5, arm-wise-ts",
    "few": "2000 x 11, k = 100, arm-wise-ts",
    "draws": "20000 x 51, k = 200, arm-wise-ts",
    "means": "20000 x 51, k = 200, c2ucb",
    "catalogue": "20000 x 51, k = 200, c2ucb, a later round of a catalogue",
    "groups": "20000 x 51 in 100 clusters, k = 200, pc2ucb, a later round of a catalogue",
}
TOLERANCE = 0.03


def count(example, case):
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "out"
        command = ["valgrind", "--tool=callgrind", "--toggle-collect=*measured*", f"--callgrind-out-file={out}", example, case]
        environment = {**os.environ, "ARMWISE_KERNEL": "avx2"}
        done = subprocess.run(command, env=environment, capture_output=True, text=True)
        if done.returncode:
            sys.exit(done.stderr)
        totals = [line for line in out.read_text().splitlines() if line.startswith(("summary:", "totals:"))]
        return int(totals[-1].split()[1])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", action="store_true", help="keep the present counts")
    parser.add_argument("--cases", action="store_true", help="only whether every case has a count")
    options = parser.parse_args()
    if options.cases:
        kept = json.loads(KEPT.read_text())["counts"]
        sys.exit(None if list(kept) == list(CASES) else f"counts of {list(kept)}, cases {list(CASES)}: bench/instructions.py --write")
    if not shutil.which("valgrind"):
        sys.exit("valgrind is not installed: apt-get install valgrind")
    compiler = subprocess.run(["rustc", "--version"], capture_output=True, text=True, check=True).stdout.strip()
    example = program("instructions")
    counts = {case: count(example, case) for case in CASES}
    if options.write:
        KEPT.write_text(json.dumps({"compiler": compiler, "counts": counts}, indent=1) + "\n")
    if not KEPT.exists():
        sys.exit("no counts are kept yet: bench/instructions.py --write")
    kept = json.loads(KEPT.read_text())
    if kept["compiler"] != compiler:
        print(f"The counts were kept with {kept['compiler']}, this is {compiler}: a difference may be the compiler's.")
    slower = []
    for case, what in CASES.items():
        before, now = kept["counts"][case], counts[case]
        print(f"{what:<75}{now:>12,}{now / before - 1:>+9.1%}")
        if now > before * (1 + TOLERANCE):
            slower.append(case)
    if slower:
        sys.exit(f"more instructions than kept: {', '.join(slower)}. If they are worth it: bench/instructions.py --write")


if __name__ == "__main__":
    main()
