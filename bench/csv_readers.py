"""Reading a CSV of customers: our strict reader beside pyarrow's and polars', one thread each, by turns.

Ours gives text columns, which are turned into numbers later and only where they are needed, so both forms of the others
are timed: columns as text, and as numbers. Processor time, since a busy machine interrupts whoever runs long.

    bench/csv_readers.py [--rows 200000] [--turns 5]

Run by `make bench`, which installs what it needs; makes a table of 51 numbers a row in a temporary folder (about 590 bytes a row).
"""
import argparse
import os
import resource
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from common import machine, program

READERS = {
    "pyarrow, text": "import pyarrow as pa, pyarrow.csv as c; names = c.open_csv(path).schema.names; "
                     "c.read_csv(path, read_options=c.ReadOptions(use_threads=False), "
                     "convert_options=c.ConvertOptions(column_types={name: pa.string() for name in names}))",
    "pyarrow, numbers": "import pyarrow.csv as c; c.read_csv(path, read_options=c.ReadOptions(use_threads=False))",
    "polars, text": "import polars; polars.read_csv(path, infer_schema=False)",
    "polars, numbers": "import polars; polars.read_csv(path)",
}


def seconds(command):
    """The processor seconds of a process."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, capture_output=True, env={**os.environ, "POLARS_MAX_THREADS": "1", "RAYON_NUM_THREADS": "1"})
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--turns", type=int, default=5)
    options = parser.parse_args()
    scale = str(program("campaign_scale"))
    with tempfile.TemporaryDirectory() as folder:
        path, empty = str(Path(folder, "table.csv")), str(Path(folder, "empty.csv"))
        subprocess.run([scale, "table", path, str(options.rows)], check=True)
        Path(empty).write_text("customer,f00\n1,2\n")
        commands = {"armwise": lambda file: [scale, "decode", file]}
        for name, code in READERS.items():
            commands[name] = lambda file, code=code: [sys.executable, "-c", f"path = {file!r}; {code}"]
        times = {name: [] for name in commands}
        for _ in range(options.turns):
            for name, command in commands.items():
                # Less what starting and loading takes.
                times[name].append(seconds(command(path)) - seconds(command(empty)))
        size = Path(path).stat().st_size / 1e6
        print(f"{options.rows:,} rows of 51 numbers, {size:.0f} MB; {machine()}; processor seconds, medians of {options.turns}")
        own = statistics.median(times["armwise"])
        for name, each in times.items():
            each = statistics.median(each)
            print(f"{name:<18}{each:8.2f} s {size / each:8.0f} MB/s   ours takes {own / each:.2f} times as long")


if __name__ == "__main__":
    main()
