"""The command that the package installs is the native one: the same output, exit codes and answer to Ctrl-C."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import sysconfig
import time
from pathlib import Path

import pytest

NATIVE = os.environ.get("ARMWISE_COMMAND", "")
INSTALLED = shutil.which("armwise", path=sysconfig.get_path("scripts")) or ""
RULES = 'customer = "customer"\n[[promotion]]\nname = "mail"\nquota = 2\n'
STUDY = '[problem]\nkind = "clustered"\nn = 200\nk = 10\n[run]\ntrials = 3\n[[algorithm]]\nname = "greedy"\n'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    rows = "".join(f"c{row},{row * 7 % 50}\n" for row in range(30))
    (tmp_path / "customers.csv").write_text("customer,age\n" + rows)
    (tmp_path / "rules.toml").write_text(RULES)
    (tmp_path / "study.toml").write_text(STUDY)
    return tmp_path


def test_it_is_on_the_path() -> None:
    assert INSTALLED, "pip install puts armwise beside the interpreter"
    done = subprocess.run([INSTALLED, "--version"], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("armwise 0.")


SCRIPT = [
    (0, ["--help"]),
    (0, ["choose", "--help"]),
    (0, ["--version"]),
    (2, []),
    (2, ["nonsense"]),
    (2, ["choose", "x.armwise"]),
    (4, ["status", "nowhere.armwise"]),
    (0, ["init", "c.armwise", "--from", "customers.csv", "--config", "rules.toml"]),
    (5, ["init", "c.armwise", "--from", "customers.csv", "--config", "rules.toml"]),
    (0, ["choose", "c.armwise", "customers.csv", "--dry-run"]),
    (2, ["choose", "c.armwise", "rules.toml", "--format", "csv"]),
    (4, ["close", "c.armwise", "--round", "9"]),
    (0, ["simulate", "study.toml", "--json"]),
    (0, ["completions", "bash"]),
]


# The service: HTTP and TLS stay out of the wheel, so its command does not have these.
OF_THE_SERVICE = ("serve", "token", "demo")


def without_the_service(help_text: str) -> str:
    lines = help_text.splitlines(keepends=True)
    return "".join(line for line in lines if line.strip().split(" ")[0] not in OF_THE_SERVICE)


@pytest.mark.skipif(not NATIVE, reason="ARMWISE_COMMAND does not name the built command")
def test_output_and_exit_codes_are_those_of_the_native_command(folder: Path) -> None:
    said = []
    for program in (NATIVE, INSTALLED):
        work = folder / Path(program).parent.name / "work"
        shutil.copytree(folder, work, ignore=lambda _, names: [n for n in names if Path(folder, n).is_dir()])
        rounds = []
        for code, arguments in SCRIPT:
            done = subprocess.run([program, *arguments], cwd=work, capture_output=True, text=True, check=False)
            assert done.returncode == code, (arguments, done.stderr)
            # Each campaign has a tag of its own, which ends the ids of its decisions.
            stdout = re.sub(r"(r\d+-\d+)-\w+", r"\1", done.stdout)
            stderr = done.stderr
            if arguments in ([], ["--help"]):
                stdout, stderr = without_the_service(stdout), without_the_service(stderr)
            rounds.append((arguments, stdout, stderr))
        said.append(rounds)
    for native, installed in zip(*said, strict=True):
        if native[0][:1] == ["simulate"]:  # it says how long it took
            native, installed = native[:2], installed[:2]
        if native[0][:1] == ["completions"]:  # those of the service are there, too
            native, installed = native[:1], installed[:1]
        assert native == installed


def test_ctrl_c_ends_it_at_once_as_it_ends_a_native_program(folder: Path) -> None:
    slow = STUDY.replace("trials = 3", "trials = 100000").replace("n = 200", "n = 20000")
    (folder / "slow.toml").write_text(slow)
    # A program that a shell runs in the background begins with the signal ignored.
    restore = lambda: signal.signal(signal.SIGINT, signal.default_int_handler)  # noqa: E731
    for program in filter(None, (NATIVE, INSTALLED)):
        running = subprocess.Popen(
            [program, "simulate", "slow.toml"], cwd=folder, stderr=subprocess.DEVNULL, preexec_fn=restore
        )
        time.sleep(2.0)
        assert running.poll() is None
        running.send_signal(signal.SIGINT)
        assert running.wait(timeout=10) == -signal.SIGINT


def test_a_closed_pipe_is_not_a_failure(folder: Path) -> None:
    for program in filter(None, (NATIVE, INSTALLED)):
        done = subprocess.run(f"'{program}' completions bash | head -c 1", shell=True, capture_output=True, text=True)
        assert (done.stdout, done.stderr) == ("_", "")


def test_the_module_is_the_command(folder: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "armwise", "status", "nowhere.armwise"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (4, "")
    assert "nowhere.armwise" in done.stderr
