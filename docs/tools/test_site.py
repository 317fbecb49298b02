"""The built site: no dead link, nothing loaded from another host, and everything that the program's help says.

`ARMWISE_SITE` is the folder of the built pages; unless set, where `make site` puts them.
"""

from __future__ import annotations

import ast
import html
import os
import re
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import command_page

ROOT = Path(__file__).resolve().parents[2]
SITE = Path(os.environ.get("ARMWISE_SITE", ROOT / "target/site/html"))
#: The tags and attributes by which a page loads something by itself; an `a` is only followed by a reader.
LOADS = {
    ("script", "src"),
    ("img", "src"),
    ("iframe", "src"),
    ("source", "src"),
    ("source", "srcset"),
    ("link", "href"),
}


class Links(HTMLParser):
    """The links, loads and anchors of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.follows: list[str] = []
        self.loads: list[str] = []
        self.anchors: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if value is None:
                continue
            if name == "id" or (tag == "a" and name == "name"):
                self.anchors.add(value)
            if tag == "a" and name == "href":
                self.follows.append(value)
            if (tag, name) in LOADS and not (tag == "link" and dict(attrs).get("rel") in ("canonical", "next", "prev")):
                self.loads.append(value)


@cache
def links(page: Path) -> Links:
    return Links(page.read_text(encoding="utf-8"))


def pages() -> list[Path]:
    found = sorted(SITE.rglob("*.html"))
    assert len(found) > 8, f"{SITE} does not hold the site; `make site` builds it"
    return [page for page in found if page.name != "404.html"]


def dead(page: Path) -> list[str]:
    """The links of a page that lead nowhere inside the site."""
    missing = []
    for link in links(page).follows + links(page).loads:
        parts = urlsplit(link)
        if parts.scheme or parts.netloc:
            continue
        target = (page.parent / unquote(parts.path)).resolve() if parts.path else page
        target = target / "index.html" if target.is_dir() else target
        if not target.exists() or (
            parts.fragment
            and target.suffix == ".html"
            and unquote(parts.fragment) not in links(target).anchors | {"__skip"}
        ):
            missing.append(link)
    return missing


def foreign(page: Path) -> list[str]:
    """What a page loads from another host."""
    return [link for link in links(page).loads if urlsplit(link).netloc]


def test_no_link_leads_nowhere() -> None:
    assert {str(page.relative_to(SITE)): dead(page) for page in pages() if dead(page)} == {}


def test_a_dead_link_and_a_foreign_load_are_found(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    page.write_text(
        '<a href="gone.html"></a><a id="here" href="#gone"></a><a href="#here"></a><img src="//x.org/y.png">'
    )
    assert dead(page) == ["gone.html", "#gone"]
    assert foreign(page) == ["//x.org/y.png"]


def test_nothing_is_loaded_from_another_host() -> None:
    assert {str(page.relative_to(SITE)): foreign(page) for page in pages() if foreign(page)} == {}
    for style in SITE.rglob("*.css"):
        loaded = re.findall(r"(?:url\(|@import)\s*[\"']?((?:https?:)?//[^\s\"')]+)", style.read_text(encoding="utf-8"))
        assert loaded == [], style


def test_scripts_know_no_host_that_a_page_makes_them_ask() -> None:
    """The theme can fetch a diagram library and facts about a repository, but only if a page asks for them."""
    for page in pages():
        text = page.read_text(encoding="utf-8")
        assert 'class="mermaid"' not in text, page
        assert 'data-md-component="source"' not in text, page
    known = {"unpkg.com", "api.github.com", "gitlab.com", "www.w3.org", "github.com"}
    for script in SITE.rglob("bundle*.js"):
        # Comments name licences and origins; strings are what could be asked.
        strings = re.findall(r"[\"'`]https?://([^/\"'`$]+)", script.read_text(encoding="utf-8"))
        assert set(strings) <= known, script


def test_the_reference_of_the_command_has_all_that_its_help_says() -> None:
    text = html.unescape(re.sub(r"<[^>]+>", "", (SITE / "reference/command.html").read_text(encoding="utf-8")))
    names = command_page.commands(command_page._help())
    assert {"init", "choose", "learn", "reproduce"} <= set(names)
    for name in names:
        said = command_page._help(name)
        for word in [f"armwise {name}", *re.findall(r"--[a-z-]+", said), *re.findall(r"<[A-Z_=]+>", said)]:
            assert word in text, f"{name}: {word}"


def exported() -> list[str]:
    """The names that `import armwise` gives, read from the two lists of them."""
    names = []
    for file in ("__init__.py", "policies.py"):
        for node in ast.walk(ast.parse((ROOT / "python/armwise" / file).read_text(encoding="utf-8"))):
            if isinstance(node, ast.Assign) and any(
                isinstance(t, ast.Name) and t.id == "__all__" for t in node.targets
            ):
                names += ast.literal_eval(node.value)
    return [name for name in names if name not in ("__version__", "ALGORITHMS", "lab")]


def test_the_reference_of_python_has_every_name() -> None:
    anchors = {anchor.rsplit(".", 1)[-1] for anchor in links(SITE / "reference/python.html").anchors}
    names = exported()
    assert len(names) > 20
    assert [name for name in names if name not in anchors] == []
