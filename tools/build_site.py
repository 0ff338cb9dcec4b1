"""Build the documentation's site from docs/, in which every page stays as a forge shows it.

    python tools/build_site.py target/site

The pages are laid out in a folder of their own. What only a site needs joins them there: the navigation, which is the
lists of docs/index.md, and a page for every public module, of its docstrings. Then Sphinx builds them, and every link,
anchor and file of the result is looked up in it. A warning, a link that leads nowhere, or something that a page would
load from elsewhere is an error.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from tempfile import TemporaryDirectory
from types import ModuleType
from urllib.parse import unquote, urlsplit

from nbconvert import MarkdownExporter

import hetsched as hs

ROOT = Path(__file__).resolve().parents[1]
SECTION = re.compile(r"^## (.+?)\n(.*?)(?=^## |\Z)", re.MULTILINE | re.DOTALL)
ITEM = re.compile(r"(?:^\* |, )\[[^\]]+\]\(([\w/.-]+)\.(?:md|ipynb)\)", re.MULTILINE)
OUTSIDE = re.compile(r"\]\(\.\./\.\./(?!docs/)([\w/-]+)\.md")
"""A link from a page to one that is not under docs/."""
LOADED = {"img": "src", "script": "src", "source": "src", "iframe": "src", "link": "href"}
"""Attributes of tags that have a page load something by itself."""


def lay_out(folder: Path) -> Path:
    """A source of the site in `folder`: docs/ with what only a site needs. Gives the folder of its pages."""
    pages = folder / "docs"
    shutil.copytree(ROOT / "docs", pages, ignore=shutil.ignore_patterns("__pycache__", ".ipynb_checkpoints"))
    for notebook in list(pages.rglob("*.ipynb")):
        notebook.with_suffix(".md").write_text(as_page(notebook), encoding="utf-8")
        notebook.unlink()
    for page in list(pages.rglob("*.md")):
        text = OUTSIDE.sub(lambda link: f"]({_brought(pages, *link.groups())}", page.read_text(encoding="utf-8"))
        page.write_text(text.replace(".ipynb)", ".md)"), encoding="utf-8")
    _add(pages / "index.md", navigation((pages / "index.md").read_text(encoding="utf-8")))
    modules = {name: module for module in (hs, *public_modules(hs)) for name, module in documented(module)}
    for name, module in modules.items():
        page = pages / "reference" / "api" / f"{name}.rst"
        page.parent.mkdir(exist_ok=True)
        page.write_text(page_of(name, module), encoding="utf-8")
    _add(pages / "reference" / "python.md", toctree("Every docstring", [f"api/{name}" for name in modules]))
    return pages


def _add(page: Path, text: str) -> None:
    page.write_text(f"{page.read_text(encoding='utf-8')}\n{text}", encoding="utf-8")


def as_page(notebook: Path) -> str:
    """A notebook as Markdown, with what its cells gave."""
    content, _ = MarkdownExporter().from_filename(str(notebook))  # type: ignore[no-untyped-call]
    return str(content)


def _brought(pages: Path, name: str) -> str:
    """The place from a folder of pages of one that is not under docs/, which is brought there."""
    copy = pages / "beside" / f"{name.replace('/', '-')}.md"
    copy.parent.mkdir(exist_ok=True)
    content = (ROOT / f"{name}.md").read_text(encoding="utf-8")
    copy.write_text(f"---\norphan: true\n---\n\n{content}", encoding="utf-8")
    return f"../beside/{copy.name}"


def navigation(index: str) -> str:
    """A hidden table of contents for each section of the index that lists pages."""
    sections = ((title, ITEM.findall(body)) for title, body in SECTION.findall(index))
    return "\n".join(toctree(title, pages) for title, pages in sections if pages)


def toctree(caption: str, pages: list[str]) -> str:
    """A hidden table of contents, as MyST writes it."""
    return "\n".join(["```{toctree}", ":hidden:", f":caption: {caption}", "", *pages, "```", ""])


def public_modules(package: ModuleType) -> Iterator[ModuleType]:
    """Modules that `dir` lists of a package, by name."""
    for name in sorted(dir(package)):
        if isinstance(thing := getattr(package, name), ModuleType):
            yield thing


def documented(module: ModuleType) -> Iterator[tuple[str, ModuleType]]:
    """The module by its name, or those that it has for users where it is nothing else."""
    inner = [one for one in public_modules(module) if one.__name__.rpartition(".")[0] == module.__name__]
    if module is hs or not inner:
        yield module.__name__, module
    else:
        yield from ((one.__name__, one) for one in inner)


def page_of(name: str, module: ModuleType) -> str:
    """A page of a module's docstrings; each name has one, in `hetsched` if that has it."""
    lines = [f"``{name}``", "=" * (len(name) + 4), "", f".. automodule:: {name}", "   :members:"]
    twice = [] if module is hs else sorted({*getattr(module, "__all__", ())} & {*hs.__all__})
    if twice:
        also = ", ".join(f":py:obj:`hetsched.{one}`" for one in twice)
        lines += [f"   :exclude-members: {', '.join(twice)}", "", f"Also here: {also}."]
    return "\n".join([*lines, ""])


def build(pages: Path, into: Path, builder: str = "html") -> str:
    """Build the site; gives what is wrong with it, or nothing."""
    command = [sys.executable, "-m", "sphinx", "--quiet", "--fail-on-warning", "--keep-going", "-b", builder]
    done = subprocess.run(
        [*command, "--fresh-env", "--doctree-dir", str(pages.parent / "doctrees"), str(pages), str(into)],
        capture_output=True,
        check=False,
        encoding="utf-8",
    )
    return done.stderr if done.returncode else ""


class Page(HTMLParser):
    """Anchors of a page, its links, and what it loads."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: list[str] = []
        self.loads: list[str] = []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note what a tag is, leads to, or loads."""
        given = {name: value for name, value in attrs if value}
        self.anchors |= {given[name] for name in ("id", "name") if name in given}
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        if tag in LOADED and LOADED[tag] in given and given.get("rel") != "canonical":
            self.loads.append(given[LOADED[tag]])


def faults(site: Path) -> list[str]:
    """Links and anchors of a built site that lead nowhere, and what its pages would load from elsewhere."""
    pages = {path: Page(path) for path in sorted(site.rglob("*.html"))}
    return [
        f"{path.relative_to(site)}: {fault}"
        for path, page in pages.items()
        for fault in (*_loads(path, page), *_links(path, page, pages))
    ]


def _loads(path: Path, page: Page) -> Iterator[str]:
    for address in page.loads:
        parts = urlsplit(address)
        if parts.scheme != "data" and (parts.scheme or parts.netloc):
            yield f"loads {address} from elsewhere"
        elif not parts.scheme and not (path.parent / unquote(parts.path)).exists():
            yield f"loads {address}, which is not there"


def _links(path: Path, page: Page, pages: dict[Path, Page]) -> Iterator[str]:
    for address in page.links:
        parts = urlsplit(address)
        if parts.scheme or parts.netloc:
            continue
        target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
        anchor = unquote(parts.fragment)
        if not target.exists():
            yield f"leads to {address}, which is not there"
        elif anchor and target in pages and anchor not in pages[target].anchors:
            yield f"leads to {address}, which has no such anchor"


def main(into: Path) -> int:
    """Build the site there, in place of one built before, and say what is wrong with it."""
    if (into / ".buildinfo").exists():
        shutil.rmtree(into)
    if into.exists() and any(into.iterdir()):
        print(f"{into}: there is something else in this folder", file=sys.stderr)
        return 1
    with TemporaryDirectory() as folder:
        said = build(lay_out(Path(folder)), into)
    wrong = [said] if said else faults(into.resolve())
    if wrong:
        print("\n".join(wrong), file=sys.stderr)
        return 1
    print(f"{len(list(into.rglob('*.html')))} pages, every link in them right: {into / 'index.html'}")
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1] if len(sys.argv) > 1 else "target/site")))
