"""Runs the pages: every command and every line of Python in them gives what the page shows.

    pages.py [--write] [PAGE ...]

`--write` writes what was printed into the pages instead (`make pages`); read the difference before you commit it.
`ARMWISE_COMMAND` is the program that the pages call `armwise`; unless set, the one that was built here. Needs nothing
but armwise itself, so that it runs in an environment where nothing else is installed.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from blocks import Block, agrees, blocks, refreshed, session

ROOT = Path(__file__).resolve().parents[2]
ALL = [ROOT / "README.md", *sorted(page for page in (ROOT / "docs").rglob("*.md"))]
COMMAND = Path(os.environ.get("ARMWISE_COMMAND", ROOT / "target/release/armwise"))


class Wrong(Exception):
    """A page that does not do what it shows: where, and what happened instead."""


class Page:
    """A page while it is run: its folder, the names that its Python knows, and what it should show."""

    def __init__(self, path: Path, folder: Path, write: bool = False) -> None:
        self.path, self.folder, self.write = path, folder, write
        self.names: dict[str, object] = {"__name__": "__main__"}
        self.shown: list[tuple[Block, list[str]]] = []
        self.environment = dict(os.environ, PATH=f"{COMMAND.parent}:{os.environ['PATH']}")
        (folder / "examples").symlink_to(ROOT / "examples")

    def place(self, block: Block) -> str:
        return f"{self.path.name}:{block.first + 1}"

    def expect(self, block: Block, expected: list[str], printed: list[str], what: str) -> list[str]:
        """Compares; gives the lines that the page should show."""
        if agrees(expected, printed):
            return expected
        if self.write:
            return refreshed(expected, printed)
        shown = "\n".join(expected)
        raise Wrong(f"{self.place(block)}: {what} printed\n" + "\n".join(printed) + f"\n\nbut the page shows\n{shown}")

    def run_session(self, block: Block) -> None:
        lines = []
        for command, expected in session(block):
            done = subprocess.run(
                ["bash", "-c", command], cwd=self.folder, env=self.environment, text=True,
                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, timeout=300, check=False,
            )  # fmt: skip
            if done.returncode != 0:
                raise Wrong(f"{self.place(block)}: {command} ended with {done.returncode}\n{done.stdout}")
            first, *rest = command.split("\n")
            shown = self.expect(block, expected, done.stdout.splitlines(), f"`{command}`")
            lines += [f"$ {first}", *(f"> {line}" for line in rest), *shown]
        self.shown.append((block, lines))

    def run_python(self, block: Block, following: Block | None) -> None:
        printed = io.StringIO()
        # Empty lines before the code, so that an error names the line of the page.
        code = compile("\n" * block.first + block.text, str(self.path), "exec", dont_inherit=True)
        sys.path.insert(0, str(self.folder))
        try:
            with contextlib.redirect_stdout(printed), contextlib.chdir(self.folder):
                exec(code, self.names)
        finally:
            sys.path.remove(str(self.folder))
        lines = printed.getvalue().splitlines()
        if following is not None and following.language == "text":
            self.shown.append((following, self.expect(following, following.lines, lines, "the code above")))
        elif lines:
            raise Wrong(f"{self.place(block)} prints, but no `text` block follows:\n" + "\n".join(lines))

    def run_peers(self, block: Block) -> None:
        if interpreter := os.environ.get("ARMWISE_PEERS"):
            print(f"{self.place(block)}: {block.title}", flush=True)
            subprocess.run([interpreter, "-c", block.text], cwd=self.folder, check=True, timeout=300)

    def run(self) -> None:
        all_blocks = blocks(self.path)
        for block, following in zip(all_blocks, [*all_blocks[1:], None], strict=False):
            if block.file_name is not None:
                (self.folder / block.file_name).write_text(block.text, encoding="utf-8")
            elif block.is_peers and block.language == "python":
                self.run_peers(block)
            elif block.language == "console":
                self.run_session(block)
            elif block.language == "python":
                self.run_python(block, following)
        if self.write:
            self.rewrite()

    def rewrite(self) -> None:
        lines = self.path.read_text(encoding="utf-8").splitlines()
        for block, new in reversed(self.shown):
            indented = [" " * block.indent + line if line else "" for line in new]
            lines[block.first : block.first + len(block.lines)] = indented
        self.path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def main() -> int:
    parser = argparse.ArgumentParser(description="Runs what the pages show.")
    parser.add_argument("--write", action="store_true", help="write what was printed into the pages")
    parser.add_argument("pages", nargs="*", type=Path, default=ALL)
    arguments = parser.parse_args()
    wrong = 0
    for path in arguments.pages:
        began = time.monotonic()
        with tempfile.TemporaryDirectory() as folder:
            try:
                Page(path.resolve(), Path(folder), arguments.write).run()
            except Wrong as error:
                wrong += 1
                print(f"error: {error}", file=sys.stderr)
        print(f"{path}: {time.monotonic() - began:.1f} s", flush=True)
    return min(wrong, 1)


if __name__ == "__main__":
    sys.exit(main())
