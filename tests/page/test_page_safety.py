"""The page loads nothing, runs only its own script, and works with a screen reader and a keyboard."""

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from timelines import cause, entry, mark, suspect

from loop_close.page import page_of, timeline
from loop_close.records import Signal

HOSTILE = (
    "<img src=x onerror=alert(1)>",
    "</script><script>alert(1)</script>",
    "<!--<script>",
    "\u202etxet desrever\u2066",
    "\u2028\u2029",
    "javascript:alert(1)",
    '" onmouseover="alert(1)',
    "{{constructor.constructor('alert(1)')()}}",
    "&lt;b&gt;&amp;",
    "x" * 10_000,
    "\ud800",
)
TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
AXE_RULES = {"runOnly": {"type": "tag", "values": TAGS}}


def hostile(text):
    """A run in which everything that is text is this text."""
    test = f"tests/test_a.py::test_x[{text}]"
    latest = cause(
        test,
        message=text,
        location={"file": text, "line": 1, "function": text},
        suspects=[suspect(text, 0.9, file=text, reasons=[text])],
    )
    marks = [mark(test, exception=text, where=f"{text}:{text}", message=text)]
    signals = [Signal(kind=text, runs=(2,), explanation=text)]
    return [entry(n, *marks, check=text) for n in (1, 2)], {"latest": [latest], "signals": signals}


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_text_stays_text(shown, text):
    entries, more = hostile(text)
    page = shown(entries, project=text, **more)
    dialogs = []
    page.page.on("dialog", lambda dialog: (dialogs.append(dialog.message), dialog.dismiss()))
    page.cell.focus()
    page.press("ArrowDown", "ArrowLeft", "Enter")
    page.page.click("#by-run")
    assert page.page.locator("article").count() == 1
    foreign = "img, svg, a, iframe, object, embed, form, b:not(#legend b, #state b), [onerror], [onmouseover]"
    assert page.page.locator(foreign).count() == 0
    assert page.page.locator("script").count() == 2
    visible = page.page.evaluate("document.body.innerText")
    assert not set(visible) & set("\u202e\u2066\u2028\u2029\u200b")
    assert page.page.evaluate("document.documentElement.scrollWidth") <= 1400
    assert dialogs == []


@pytest.fixture
def server():
    """A server that keeps the paths it is asked for."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            asked.append(self.path)
            self.send_response(204)
            self.end_headers()

        def log_message(self, *arguments):
            pass

    asked = []
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as httpd:
        thread = threading.Thread(target=httpd.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{httpd.server_port}", asked
        httpd.shutdown()
        thread.join()


ATTACK = """async (address) => {
    const found = [];
    document.addEventListener("securitypolicyviolation", (event) => found.push(event.effectiveDirective));
    const add = (tag, values) => document.body.append(Object.assign(document.createElement(tag), values));
    add("script", { textContent: "window.foreign = 1" });
    add("script", { src: `${address}/script` });
    add("img", { src: `${address}/img` });
    add("iframe", { src: `${address}/frame` });
    add("link", { rel: "stylesheet", href: `${address}/style` });
    add("style", { textContent: "body { color: red }" });
    add("base", { href: address });
    document.body.insertAdjacentHTML("beforeend", "<i style='color:red' onclick='window.foreign = 2'>x</i>");
    document.body.lastElementChild.click();
    await fetch(`${address}/fetch`).catch(() => {});
    for (let frame = 0; frame < 600 && new Set(found).size < 8; frame += 1) await new Promise(requestAnimationFrame);
    return [[...new Set(found)].sort(), window.foreign];
}"""


def test_nothing_else_runs_and_nothing_is_loaded(shown, story, server):
    address, asked = server
    page = shown(story)
    blocked, foreign = page.page.evaluate(ATTACK, address)
    assert foreign is None
    wanted = {f"{kind}-src-{what}" for kind in ("script", "style") for what in ("elem", "attr")}
    assert {*wanted, "img-src", "frame-src", "connect-src", "base-uri"} == set(blocked)
    assert asked == []
    assert all("Content Security Policy" in fault for fault in page.faults)
    page.faults.clear()
    page.requests.clear()  # they were begun, and blocked


def test_a_script_that_was_changed_does_not_run(chromium, tmp_path):
    path = tmp_path / "page.html"
    text = page_of(timeline([entry(1, mark("t.py::a"))]))
    path.write_text(text.replace('"use strict";', '"use strict"; window.foreign = 1;', 1), encoding="utf-8")
    page = chromium.new_page()
    page.goto(path.as_uri())
    assert page.evaluate("window.foreign") is None
    assert page.get_attribute("html", "data-ready") is None
    page.close()


@pytest.fixture
def axe():
    """What finds faults of a page that is open."""
    module = pytest.importorskip(
        "axe_playwright_python.sync_playwright", reason="axe is not installed: extra page"
    )
    return lambda shown: module.Axe().run(shown.page, options=AXE_RULES).response


@pytest.mark.parametrize("width", [1400, 400])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing(shown, story, axe, scheme, width):
    page = shown(story, color_scheme=scheme, viewport={"width": width, "height": 900})
    page.cell.focus()
    page.press("ArrowDown", "ArrowDown")
    page.page.locator("article summary").first.click()
    found = axe(page)
    assert len(found["passes"]) > 20
    assert [
        (each["id"], [node["html"][:120] for node in each["nodes"]]) for each in found["violations"]
    ] == []


@pytest.mark.parametrize("entries", [[], [entry(1)]], ids=["no run", "green"])
def test_axe_finds_nothing_where_there_is_little_to_see(shown, axe, entries):
    assert [each["id"] for each in axe(shown(entries))["violations"]] == []


def test_the_page_of_500_runs_of_2000_tests_is_small(many):
    assert len(page_of(timeline(many, "shop")).encode()) < 3_000_000
