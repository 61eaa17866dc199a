"""The page of a large history: its size, the time to write it, and the time until a browser shows it."""

from __future__ import annotations

import random
import shutil
import statistics
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.rows import Bench, Row

_RUNS, _TESTS, _CAUSES = 500, 2_000, 40
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
    from loop_close.emit.charts import svg
    from loop_close.page import page_of, read_timeline

    runs, tests = bench.tests(_RUNS), bench.tests(_TESTS)
    history, target = bench.folder / "page.sqlite3", bench.folder / "page.html"
    fill(history, runs, tests)
    scenario = f"{runs:,} runs, {tests:,} tests"
    start = time.process_time()
    timeline = read_timeline(history, bench.folder, limit=runs)
    text = page_of(timeline)
    spent = time.process_time() - start
    target.write_text(text, encoding="utf-8")
    failed = f"{len(timeline.tests):,} tests failed, {len(timeline.causes)} root causes"
    yield Row(scenario, "size of the page", f"{len(text.encode()) / 1e6:.2f} MB", "< 3 MB", failed)
    yield Row(scenario, "size of the picture", f"{len(svg(timeline)) / 1e3:.0f} KB", "", "")
    yield Row(scenario, "CPU to read the history and write it", f"{spent:.1f} s", "", "")
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


def fill(path: Path, runs: int, tests: int) -> None:
    """A history in which failures come and go: some tests flicker, some causes last for many runs."""
    from loop_close.memory import Edit, Edits, Episode, FailureRecord, Run
    from loop_close.store.sqlite import open_history

    chance = random.Random(7)
    names = [
        f"tests/unit/test_module_{n % 60}.py::TestThing::test_case_{n}[value-{n % 7}]" for n in range(tests)
    ]
    of_cause = [chance.sample(range(tests), max(1, tests // 60)) for _ in range(_CAUSES)]
    present: set[int] = set()
    with open_history(path, max_runs=10**9, max_bytes=10**12) as history:
        for number in range(runs):
            present ^= {chance.randrange(_CAUSES)} if chance.random() < 0.3 else set()
            here = {test: cause for cause in sorted(present)[-6:] for test in of_cause[cause]}
            here |= {chance.randrange(tests): chance.randrange(_CAUSES) for _ in range(14)}
            marks = tuple(
                FailureRecord(
                    test=names[test], exact=f"{test}-{cause}", shape=str(cause), cause=f"1{cause:016}"
                )
                for test, cause in sorted(here.items())
            )
            edit = Edit(file=f"src/app/part_{number % 30}.py", function=f"function_{number % 11}")
            begun = history.begin(
                "pytest",
                {},
                {},
                pid=1,
                birth="",
                host="bench",
                now=_START + 600 * number,
                is_alive=lambda *_: True,
            )
            run = Run(
                number=begun.number, marks=marks, edits=Edits(kind="effective", edits=(edit,)), passed=tests
            )
            with history.transaction(begun) as transaction:
                summary = {"verdict": "no-progress", "failing": len(marks), "causes": _causes(here)}
                transaction.save(run, Episode(), summary, now=_START + 600 * number + 60)


def _causes(here: dict[int, int]) -> list[dict[str, Any]]:
    return [
        {
            "id": f"{cause:08x}",
            "kind": "test-failure",
            "exception": "AssertionError",
            "message": f"assert {cause} == {cause + 1}\n +  where {cause} = compute(order, rate={cause})",
            "location": {
                "file": f"tests/unit/test_module_{cause}.py",
                "line": 40 + cause,
                "function": "test",
            },
            "count": 1,
            "keys": [f"1{cause:016}"],
            "suspects": [
                {
                    "file": f"src/app/part_{cause % 30}.py",
                    "line": 10 * place + 1,
                    "end_line": 10 * place + 8,
                    "function": f"compute_{place}",
                    "score": round(0.9 / (place + 1), 3),
                    "reasons": ["called by all 12 failing tests and 3 of 1,980 passing ones"],
                }
                for place in range(3)
            ],
        }
        for cause in sorted(set(here.values()))[:20]
    ]
