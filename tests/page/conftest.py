"""The page in a real Chromium without a screen."""

import os
import shutil
from contextlib import contextmanager

import pytest
from timelines import cause, edited, entry, flickering, mark, suspect

from loop_close.page import page_of, timeline
from loop_close.records import Signal

FLAGS = (
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
)
A, B, C = (f"tests/test_cart.py::test_{name}" for name in ("total", "rate", "label"))
OF_TAX = {"exception": "KeyError", "message": "'DE'", "where": "src/tax.py:rate", "line": 4}
#: What the report of the last run says of the root cause that is left.
LATEST = cause(
    C,
    message="'DE'",
    location={"file": "src/tax.py", "line": 4, "function": "rate"},
    suspects=[suspect("lookup", 0.8, file="src/tax.py")],
)
SIGNALS = (
    Signal(kind="no-effective-edit", runs=(2, 3), explanation="runs 2 and 3"),
    Signal(kind="repeated-failure", runs=(3, 4), explanation="C failed in runs 3 and 4"),
)


def pytest_collection_modifyitems(items):
    folder = os.path.dirname(__file__) + os.sep
    for item in items:
        if str(item.path).startswith(folder):
            item.add_marker(pytest.mark.page)


@pytest.fixture(scope="session")
def chromium():
    """The browser; without one the tests are skipped."""
    api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed: extra page")
    names = ("chromium", "chromium-browser", "google-chrome")
    path = next(filter(None, map(shutil.which, names)), None)
    if path is None:
        pytest.skip("no Chromium is installed: apt-get install chromium")
    with api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=list(FLAGS))
        yield browser
        browser.close()


class Shown:
    """A page that is open, and what it complained of or asked the network for."""

    def __init__(self, page):
        self.page, self.faults, self.requests = page, [], []
        page.on("console", lambda message: self.hear(message.type, message.text))
        page.on("pageerror", lambda error: self.faults.append(str(error)))
        page.on("request", lambda request: self.requests.append(request.url))

    def hear(self, kind, text):
        if "willReadFrequently" not in text:  # advice on how the tests read the canvas
            self.faults.append(f"{kind}: {text}")

    def open(self, path):
        self.page.goto(path.as_uri())
        return self

    def texts(self, selector):
        return [text.strip() for text in self.page.locator(selector).all_inner_texts()]

    def rows(self):
        """The labels of the rows in view, from top to bottom."""
        rows = self.page.locator("#grid [role=row]")
        found = rows.evaluate_all(
            "rows => rows.map(row => [Number(row.ariaRowIndex), row.querySelector('.name').textContent])"
        )
        return [name for _, name in sorted(found)]

    @property
    def cell(self):
        return self.page.locator("#cell")

    def said(self):
        """What the cell in focus says."""
        return self.cell.get_attribute("aria-label")

    def press(self, *keys):
        for key in keys:
            self.page.keyboard.press(key)

    def colour_at(self, row, col):
        """The colour that is drawn at the left edge of a cell."""
        return self.page.evaluate(
            """([row, col]) => {
                const cell = document.getElementById("cell"), canvas = document.getElementById("canvas");
                const box = cell.getBoundingClientRect(), map = canvas.getBoundingClientRect();
                const down = row - (cell.parentNode.ariaRowIndex - 1), along = col - (cell.ariaColIndex - 2);
                const x = box.left - map.left + along * box.width + 3, y = box.top - map.top + down * 20 + 4;
                const scale = canvas.width / map.width;
                return [...canvas.getContext("2d").getImageData(x * scale, y * scale, 1, 1).data].slice(0, 3);
            }""",
            [row, col],
        )


@pytest.fixture
def shown(chromium, tmp_path):
    """Open the page of some runs; in the end it must have complained of nothing."""
    opened = []

    @contextmanager
    def in_browser(**options):
        context = chromium.new_context(**{"viewport": {"width": 1400, "height": 900}, **options})
        context.set_default_timeout(20_000)
        try:
            yield context
        finally:
            context.close()

    def show(entries, project="shop", setup=lambda page: None, latest=(LATEST,), signals=SIGNALS, **options):
        path = tmp_path / f"page-{len(opened)}.html"
        found = timeline(entries, project, latest=latest, signals=signals)
        path.write_text(page_of(found), encoding="utf-8")
        manager = in_browser(**options)
        page = manager.__enter__().new_page()
        setup(page)
        opened.append((Shown(page).open(path), manager))
        return opened[-1][0]

    yield show
    faults = [fault for page, _ in opened for fault in page.faults]
    requests = [url for page, _ in opened for url in page.requests if not url.startswith("file://")]
    for _, manager in opened:
        manager.__exit__(None, None, None)
    assert faults == []
    assert requests == []


@pytest.fixture(scope="session")
def story():
    """Six runs of two checks: two root causes come, one goes, with edits on the way."""
    one, two = "pytest:py311", "pytest:py312"
    of_tax = mark(C, "1b", **OF_TAX)
    return [
        entry(1, check=one),
        entry(2, mark(A), mark(B), check=one, edits=edited("total")),
        entry(3, mark(A), mark(B), of_tax, check=one, edits=edited("rate", kind="ineffective")),
        entry(1, of_tax, check=two),
        entry(4, of_tax, check=one, passed=[A], skipped=[B], edits=edited("lookup", file="src/tax.py")),
        entry(2, of_tax, check=two),
    ]


@pytest.fixture(scope="session")
def many():
    """500 runs of 2,000 tests."""
    return flickering(500, 2_000)
