"""What a person sees and does on the page."""

import pytest

BOTH = ["lookup() in src/tax.py:3 (80% probable)", "AssertionError at src/a.py:7"]


def test_the_page_shows_causes_and_tests(shown, story):
    page = shown(story)
    assert page.page.title() == "shop · loop-close"
    assert page.rows() == [*BOTH, "test_label", "test_rate", "test_total"]
    assert page.texts("article h3") == BOTH
    assert page.texts("#causes-title") == ["Root causes: 1 now, 1 earlier"]
    assert page.texts("#state li") == [
        "pytest:py311 × red, 1 failing",
        "pytest:py312 × red, 1 failing",
    ]


def test_outcomes_are_drawn_in_their_colours(shown, story):
    page = shown(story)
    failed, passed, skipped, absent = (page.colour_at(*at) for at in ((4, 1), (4, 4), (3, 4), (4, 0)))
    assert len({tuple(each) for each in (failed, passed, skipped, absent)}) == 4
    assert failed == [196, 49, 75]
    page.page.click("#theme")
    page.page.evaluate(
        "() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"
    )
    assert page.colour_at(4, 1) == [240, 98, 122]


def test_the_cell_in_focus_moves_by_keys(shown, story):
    page = shown(story)
    page.cell.focus()
    assert page.said() == f"{BOTH[0]}, pytest:py312 2: 1 test"
    page.press("ArrowDown", "ArrowDown")
    assert page.said() == "tests/test_cart.py::test_label, pytest:py312 2: failed"
    page.press("ArrowDown", "ArrowLeft")
    assert page.said() == "tests/test_cart.py::test_rate, pytest:py311 4: skipped"
    page.press("ArrowDown", "Home")
    assert page.said() == "tests/test_cart.py::test_total, pytest:py311 1: did not fail"
    page.press("End", "Control+Home")
    assert page.said() == f"{BOTH[0]}, pytest:py311 1: not there"
    page.press("PageDown", "ArrowUp", "ArrowLeft", "ArrowRight")
    assert page.said() == "tests/test_cart.py::test_rate, pytest:py311 2: failed"
    assert page.page.evaluate("document.activeElement.id") == "cell"
    assert page.page.locator("#grid [tabindex]").count() == 1


def test_each_move_is_a_move_of_the_focus(shown, story):
    # A screen reader does not speak when only the label of the element in focus changes.
    page = shown(story)
    page.cell.focus()
    page.page.evaluate(
        """() => { window.spoken = []; document.getElementById('grid').addEventListener('focusin',
            (event) => window.spoken.push(event.target.ariaLabel)); }"""
    )
    page.press("ArrowLeft", "ArrowLeft", "ArrowDown")
    assert page.page.evaluate("window.spoken") == [
        f"{BOTH[0]}, pytest:py311 4: 1 test",
        f"{BOTH[0]}, pytest:py312 1: 1 test",
        f"{BOTH[1]}, pytest:py312 1: not there",
    ]


def test_enter_opens_the_table_and_escape_goes_back(shown, story):
    page = shown(story)
    page.cell.focus()
    page.press("Enter")
    assert page.page.evaluate("document.activeElement.id") == "slice"
    page.press("Escape")
    assert page.page.evaluate("document.activeElement.id") == "cell"
    page.press("Escape")
    assert page.page.evaluate("document.activeElement.id") == "search"


def test_a_click_chooses_a_cell_and_its_table(shown, story):
    page = shown(story)
    page.cell.focus()
    box = page.cell.bounding_box()  # the last run of the first row
    page.page.mouse.click(box["x"] - box["width"] * 2.5, box["y"] + 4 * 20 + 5)
    assert page.said() == "tests/test_cart.py::test_total, pytest:py311 3: failed"
    (line,) = page.texts("#body tr[aria-current]")
    cells = line.split("\t")
    assert cells[0] == "pytest:py311 3"
    assert (cells[1], cells[4]) == ("×failed", BOTH[1])
    assert cells[5:] == ["comments or formatting of rate() in src/a.py", "no-effective-edit: runs 2 and 3"]


def test_search_finds_tests_and_root_causes(shown, story):
    page = shown(story)
    page.page.fill("#search", "test_rate")
    assert page.rows() == [BOTH[1], "test_rate"]
    page.page.fill("#search", "KeyError")
    assert page.rows() == [BOTH[0], "test_label"]
    assert page.texts("article h3") == BOTH[:1]
    page.page.fill("#search", "no such thing")
    assert page.rows() == []
    assert page.texts("#cards") == ["No root cause matches."]
    assert not page.page.is_visible("#slice")
    assert page.page.text_content("#status") == "0 tests, 0 root causes, 6 runs"
    page.press("Escape")
    assert len(page.rows()) == 5


@pytest.mark.parametrize(
    "keys", ["Alt+ArrowLeft", "Control+ArrowLeft", "Meta+ArrowUp", "Control+Slash", "Alt+Slash"]
)
def test_keys_of_the_browser_stay_with_it(shown, story, keys):
    page = shown(story)
    page.cell.focus()
    said = page.said()
    page.page.evaluate(
        "window.taken = []; addEventListener('keydown', (event) => window.taken.push(event.defaultPrevented));"
    )
    page.press(keys)
    assert page.page.evaluate("window.taken").count(True) == 0
    assert page.said() == said
    assert page.page.evaluate("document.activeElement.id") == "cell"


def test_the_prompt_of_a_root_cause_is_copied(shown, story):
    page = shown(story, permissions=["clipboard-read", "clipboard-write"])
    page.page.get_by_role("button", name="Copy the prompt: lookup()").click()
    page.page.locator("#status", has_text="Copied").wait_for(state="attached")
    copied = page.page.evaluate("navigator.clipboard.readText()")
    assert copied.startswith("# `lookup() in src/tax.py:3 (80% probable)`\n\n`KeyError` at `src/tax.py:4`")
    assert copied.endswith("Rerun: `loop-close check`\n")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_theme_follows_the_system_until_it_is_switched(shown, story, scheme):
    page = shown(story, color_scheme=scheme)
    paper = "getComputedStyle(document.body).backgroundColor"
    light, dark = "rgb(255, 255, 255)", "rgb(15, 19, 24)"
    assert page.page.evaluate(paper) == (light if scheme == "light" else dark)
    page.page.click("#theme")
    assert page.page.evaluate(paper) == (dark if scheme == "light" else light)
    page.page.reload()
    assert page.page.evaluate(paper) == (dark if scheme == "light" else light)


@pytest.mark.parametrize("width", [400, 320])
def test_a_narrow_window_needs_no_scrolling_across(shown, story, width):
    page = shown(story, viewport={"width": width, "height": 800})
    assert page.page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.page.is_visible("article h3")
    page.cell.focus()
    page.press("Home", "ArrowDown", "ArrowDown", "End")
    assert page.said() == "tests/test_cart.py::test_label, pytest:py312 2: failed"


def test_a_history_without_runs(shown):
    page = shown([])
    assert page.page.inner_text("#empty") == "No run is recorded yet. pytest --loop-close records one."
    assert not page.page.is_visible("#map")


def test_500_runs_of_2000_tests(shown, many):
    page = shown(many)
    assert page.page.get_attribute("#grid", "aria-colcount") == "501"
    assert page.page.evaluate("document.querySelectorAll('*').length") < 2_000
    page.cell.focus()
    page.press("Control+End")
    last = int(page.page.get_attribute("#grid", "aria-rowcount"))
    assert page.cell.locator("..").get_attribute("aria-rowindex") == str(last)
    assert page.page.locator("#grid [role=row]").count() < 60
    assert page.page.evaluate("document.getElementById('map').scrollTop") > 30_000
    page.page.evaluate("document.getElementById('map').scrollTo(1000, 5000)")
    page.page.evaluate(
        "() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"
    )
    first = page.page.locator("#grid [role=row]").evaluate_all(
        "rows => Math.min(...rows.map(row => Number(row.getAttribute('aria-rowindex'))))"
    )
    assert first == 5000 // 20 + 1
