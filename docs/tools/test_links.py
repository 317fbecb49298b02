"""The Markdown files of the repository: no link to a file or heading that is not there."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

ROOT = Path(__file__).resolve().parents[2]
FILES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "ARCHITECTURE.md", "CHANGELOG.md", "bench/README.md")),
    *sorted((ROOT / "docs").rglob("*.md")),
]
_LINK = re.compile(r"\]\(([^()\s]+)(?:\s+\"[^\"]*\")?\)|(?:src|href)=\"([^\"]+)\"")


def prose(text: str) -> str:
    """The text without its code."""
    return re.sub(r"`[^`\n]*`", "", re.sub(r"^ *```.*?^ *```", "", text, flags=re.M | re.S))


def anchors(text: str) -> set[str]:
    """The anchors that GitHub and the site give to the headings."""
    heads = re.findall(r"^#+ +(.*)$", re.sub(r"^ *```.*?^ *```", "", text, flags=re.M | re.S), flags=re.M)
    plain = (re.sub(r"[^\w\- ]", "", head.lower()) for head in heads)
    return {head.replace(" ", "-") for head in plain}


def dead(file: Path) -> list[str]:
    text = file.read_text(encoding="utf-8")
    missing = []
    for link in (first or second for first, second in _LINK.findall(prose(text))):
        parts = urlsplit(link)
        if parts.scheme or parts.netloc:
            continue
        target = (file.parent / unquote(parts.path)).resolve() if parts.path else file
        if not target.exists() or (
            parts.fragment and parts.fragment not in anchors(target.read_text(encoding="utf-8"))
        ):
            missing.append(link)
    return missing


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(ROOT)))
def test_no_link_leads_nowhere(file: Path) -> None:
    assert dead(file) == []


def test_a_dead_link_is_found(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# A head\n[a](#a-head) [b](#gone) [c](gone.md) `[d](code.md)` [e](https://example.org/)\n")
    assert dead(page) == ["#gone", "gone.md"]
