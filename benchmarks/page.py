"""The page of a large history: its size, the time to write it, and the time until a browser shows it."""

from __future__ import annotations

import random
import shutil
import statistics
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks.rows import Bench, Row
from loop_close.page import page_of, timeline
from loop_close.records import Counts, Edit, Edits, FailureRecord, Run

_RUNS, _TESTS, _CAUSES = 500, 2_000, 40
_SOURCE = "pytest@cpython-3.13"
_START = 1_700_000_000.0
_BROWSERS = ("chromium", "chromium-browser", "google-chrome")
#: What keeps a browser without a screen to itself.
FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
#: Scrolls along and down by a step each frame; gives back the milliseconds between the frames.
_SCROLL = """() => new Promise((done) => {
  const map = document.getElementById("map"), times = [];
  map.scrollTo(0, 0);
  const step = (now) => {
    times.push(now);
    if (times.length > 120) return done(times.slice(1).map((each, i) => each - times[i]));
    map.scrollBy(24, 40);
    requestAnimationFrame(step);
  };
  requestAnimationFrame(step);
})"""


def page(bench: Bench) -> Iterator[Row]:
    """Write the page of 500 runs of 2,000 tests, then load and scroll it where there is a browser."""
    runs, tests = bench.tests(_RUNS), bench.tests(_TESTS)
    target, made = bench.folder / "page.html", rows(runs, tests)
    scenario = f"{runs:,} runs, {tests:,} tests"
    start = time.process_time()
    shown = timeline(made)
    text = page_of(shown)
    spent = time.process_time() - start
    target.write_text(text, encoding="utf-8")
    failed = f"{len(shown['tests']):,} tests failed, {len(shown['causes'])} root causes"
    yield Row(scenario, "size of the page", f"{len(text.encode()) / 1e6:.2f} MB", "< 3 MB", failed)
    yield Row(scenario, "CPU to make it of the runs", f"{spent:.1f} s", "", "")
    yield from _shown(target, scenario, bench.rounds)


def _shown(target: Path, scenario: str, rounds: int) -> Iterator[Row]:
    browser = next(filter(None, map(shutil.which, _BROWSERS)), None)
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        browser = None
    if browser is None:
        yield Row(scenario, "until it is drawn", "not measured", "< 1 s", "needs playwright and Chromium")
        return
    ready, frames = [], []
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=browser, args=list(FLAGS))
        for _ in range(rounds):
            shown = chromium.new_page(viewport={"width": 1400, "height": 900})
            shown.goto(target.as_uri())
            shown.wait_for_selector("html[data-ready]", state="attached")
            ready.append(int(shown.locator("html").get_attribute("data-ready") or 0))
            frames += shown.evaluate(_SCROLL)
            shown.close()
        chromium.close()
    note = f"{min(ready)} to {max(ready)} ms, {rounds} times, Chromium without a screen"
    yield Row(scenario, "until it is drawn", f"{statistics.median(ready) / 1000:.2f} s", "< 1 s", note)
    late = statistics.quantiles(frames, n=20)[-1]
    note = f"95 % within {late:.0f} ms, longest {max(frames):.0f} ms, of {len(frames)} frames"
    yield Row(scenario, "a frame while scrolling", f"{statistics.median(frames):.0f} ms", "< 34 ms", note)


def rows(runs: int, tests: int) -> list[Run]:
    """Runs in which failures come and go: some tests flicker, some causes last for many runs."""
    chance = random.Random(7)
    names = [
        f"tests/unit/test_module_{n % 60}.py::TestThing::test_case_{n}[value-{n % 7}]" for n in range(tests)
    ]
    of_cause = [chance.sample(range(tests), max(1, tests // 60)) for _ in range(_CAUSES)]
    present: set[int] = set()
    made = []
    for number in range(1, runs + 1):
        present ^= {chance.randrange(_CAUSES)} if chance.random() < 0.3 else set()
        here = {test: cause for cause in sorted(present)[-6:] for test in of_cause[cause]}
        here |= {chance.randrange(tests): chance.randrange(_CAUSES) for _ in range(14)}
        failures = tuple(_failure(names[test], cause) for test, cause in sorted(here.items()))
        edit = Edit(file=f"src/app/part_{number % 30}.py", function=f"function_{number % 11}")
        made.append(
            Run(
                id=f"r{number}",
                number=number,
                began=_START + 600 * number,
                seconds=60.0,
                exit_code=1,
                is_finished=True,
                counts=Counts(passed=tests - len(failures), failed=len(failures)),
                outcomes={_SOURCE: {**dict.fromkeys(names, "passed"), **{names[n]: "failed" for n in here}}},
                failures=failures,
                edits=Edits(kind="effective", edits=(edit,)),
            )
        )
    return made


def _failure(test: str, cause: int) -> FailureRecord:
    return FailureRecord(
        source=_SOURCE,
        test=test,
        exact=f"{test}-{cause}",
        shape=f"{test}-{cause}",
        cause=f"1{cause:016}",
        message=f"assert {cause} == {cause + 1}\n +  where {cause} = compute(order, rate={cause})",
        exception="AssertionError",
        where=f"tests/unit/test_module_{cause}.py:test",
        line=40 + cause,
    )
