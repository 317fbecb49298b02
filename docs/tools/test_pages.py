"""The runner of the pages finds what is wrong in them."""

from __future__ import annotations

from pathlib import Path

import pytest

from blocks import agrees, blocks
from pages import Page, Wrong

GOOD = """\
```toml title="rules.toml"
customer = "id"
```
```console
$ cat rules.toml
customer = "id"
$ echo one; \\
> echo two
one
t...
```
```python
print(1 + 1)
```
```text
2
```
"""


def run(text: str, folder: Path, *, write: bool = False) -> str:
    page = folder / "page.md"
    page.write_text(text)
    (folder / "play").mkdir()
    Page(page, folder / "play", write).run()
    return page.read_text()


def test_a_page_that_shows_what_happens_is_good_and_stays_as_it_is(tmp_path: Path) -> None:
    assert run(GOOD, tmp_path, write=True) == GOOD


@pytest.mark.parametrize(
    ("was", "becomes"),
    [("2\n```", "3\n```"), ("t...", "x..."), ('$ cat rules.toml\ncustomer = "id"', "$ cat rules.toml")],
)
def test_a_page_that_shows_something_else_is_found_and_mended(tmp_path: Path, was: str, becomes: str) -> None:
    assert was in GOOD
    bad = GOOD.replace(was, becomes)
    (tmp_path / "found").mkdir()
    with pytest.raises(Wrong, match="but the page shows"):
        run(bad, tmp_path / "found")
    (tmp_path / "mended").mkdir()
    assert run(bad, tmp_path / "mended", write=True) == GOOD.replace("t...", "two" if "x" in becomes else "t...")


def test_a_page_without_code_is_good(tmp_path: Path) -> None:
    assert run("# A page\n", tmp_path, write=True) == "# A page\n"


def test_a_command_that_fails_is_found(tmp_path: Path) -> None:
    with pytest.raises(Wrong, match="ended with 1"):
        run("```console\n$ false\n```\n", tmp_path)


def test_code_that_prints_without_a_block_for_it_is_found(tmp_path: Path) -> None:
    with pytest.raises(Wrong, match="no `text` block follows"):
        run("```python\nprint(1)\n```\n", tmp_path)


def test_what_three_dots_stand_for() -> None:
    assert agrees(["a ... c", "...", "z"], ["a b c", "x", "y", "z"])
    assert not agrees(["a ... c", "z"], ["a b c", "x", "z"])
    assert not agrees(["a"], ["a", "b"])


def test_a_block_that_is_not_closed_is_an_error(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("```python\n1\n")
    with pytest.raises(ValueError, match="not closed"):
        blocks(page)
