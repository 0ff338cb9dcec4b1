"""The site of the documentation: it builds without a warning, has every page, and knows links that lead nowhere."""

import importlib.util
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def site(monkeypatch: pytest.MonkeyPatch):
    """The tool that builds the site."""
    for needed in ("sphinx", "furo", "myst_parser", "nbconvert"):
        pytest.importorskip(needed, reason=f"the site is built with {needed}")
    spec = importlib.util.spec_from_file_location("build_site", ROOT / "tools" / "build_site.py")
    tool = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "build_site", tool)
    spec.loader.exec_module(tool)
    return tool


@pytest.mark.slow
def test_every_page_and_docstring_is_read_without_a_warning(site, tmp_path: Path) -> None:
    # Everything but the writing of HTML: `make docs` does that, and looks up every link in it.
    assert site.build(site.lay_out(tmp_path), tmp_path / "out", "dummy") == ""


def test_a_link_that_leads_nowhere_fails_the_site(site, tmp_path: Path) -> None:
    (tmp_path / "conf.py").write_text((ROOT / "docs" / "conf.py").read_text(encoding="utf-8"), encoding="utf-8")
    (tmp_path / "index.md").write_text("# Pages\n\n[Here](#pages), [there](other.md).\n", encoding="utf-8")
    assert "'other.md'" in site.build(tmp_path, tmp_path / "out", "dummy")


def test_every_page_stands_in_the_navigation(site) -> None:
    docs = ROOT / "docs"
    shown = {
        page
        for _, body in site.SECTION.findall((docs / "index.md").read_text("utf-8"))
        for page in site.ITEM.findall(body)
    }
    pages = {
        str(path.relative_to(docs).with_suffix("")) for ending in ("md", "ipynb") for path in docs.rglob(f"*.{ending}")
    }
    assert pages - {"index"} == shown


def test_links_anchors_and_loads_of_a_built_site_are_looked_up(site, tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text(
        '<p id="here"></p><a href="#here"></a><a href="b.html#there"></a><a href="c.html"></a><a href="b.html#no"></a>'
        '<a href="https://example.org/x#y"></a><img src="none.png"><script src="https://example.org/x.js"></script>'
    )
    (tmp_path / "b.html").write_text('<h1 id="there"></h1><img src="data:image/png;base64,AA"><link href="a.html">')
    assert site.faults(tmp_path) == [
        "a.html: loads none.png, which is not there",
        "a.html: loads https://example.org/x.js from elsewhere",
        "a.html: leads to c.html, which is not there",
        "a.html: leads to b.html#no, which has no such anchor",
    ]


def test_a_folder_with_something_else_in_it_is_left_alone(
    site, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    assert site.main(tmp_path) == 1
    assert "something else" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]
