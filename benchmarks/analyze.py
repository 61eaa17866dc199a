"""Text to the next prompt: logs of a megabyte through the library, a small one through the command."""

from __future__ import annotations

import base64
import json
import random
import statistics
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from benchmarks import suites
from benchmarks.measure import run, surroundings
from benchmarks.rows import Bench, Row

_MEGABYTE = 1_000_000
_CORPUS = Path(__file__).parent.parent / "tests" / "corpus"
_COMMAND = "import sys; from loop_close.cli import main; sys.exit(main(['analyze', '--exit-code', '1', sys.argv[1]]))"
_TIMES = 9
#: Less than this cannot be distinguished from the noise of the clock when it is doubled.
_MEASURABLE = 0.0005


def analyze(bench: Bench) -> Iterator[Row]:
    """Whole logs, then how reading grows with the text, then the command."""
    red, green = _red(bench), _green(bench)
    yield from _whole(red, green)
    yield from _repeated()
    yield _growth("readers", dict(_of_readers()))
    yield _growth("detectors", dict(_of_detectors(red)))
    yield _many(bench)
    yield from _command(bench, red[:20_000] + red[-20_000:])


def _red(bench: Bench) -> str:
    """A red run as people see it: every failure with its traceback and four kilobytes of what it printed."""
    folder = bench.folder / "analyze-red"
    suites.failing(folder, tests=bench.tests(200), noise=4_000)
    return _log(bench, folder, code=1)


def _green(bench: Bench) -> str:
    folder = bench.folder / "analyze-green"
    suites.trivial(folder, tests=bench.tests(9_900), files=bench.tests(99))
    return _log(bench, folder, "-v", code=0)


def _log(bench: Bench, folder: Path, *arguments: str, code: int) -> str:
    sample = run(bench.env.command(*arguments), folder, bench.output)
    text = bench.output.read_text(encoding="utf-8")
    if sample.code != code:
        raise RuntimeError(f"pytest ended with {sample.code}:\n{text[-2000:]}")
    return text


def _whole(red: str, green: str) -> Iterator[Row]:
    failures = red.count("\nFAILED ") + red.count("\nERROR ")
    yield _row("a red log of pytest", red, 1, "< 30 ms", f"{failures} failures")
    yield _row("the same in colour", _coloured(red), 1, "")
    yield _row("a green log of pytest -v", green, 0, "< 10 ms", f"{green.count(' PASSED')} tests")
    # Without its first lines no reader knows it as pytest's, and all of them look at all of it.
    yield _row("the end of a longer one", green[len(green) // 10 :], 0, "")


def _coloured(text: str) -> str:
    """Every line of an error in red, as a terminal's log has it."""
    lines = (f"\x1b[1m\x1b[31m{line}\x1b[0m" if line.startswith("E ") else line for line in text.split("\n"))
    return "\n".join(lines)


def _repeated() -> Iterator[Row]:
    for piece in ("x", "(", "TODO("):
        yield _row(f"{piece} again and again", piece * (_MEGABYTE // len(piece)), 1, "< 100 ms")
    blob = base64.b64encode(random.Random(1).randbytes(_MEGABYTE * 3 // 4)).decode()
    yield _row("one line of base64", blob, 1, "< 100 ms")


def _row(what: str, text: str, code: int, goal: str, note: str = "") -> Row:
    from loop_close.library import close_loop

    spent = _median(lambda: close_loop(text, exit_code=code)) * 1000
    return Row("analyze", f"{what}, {len(text) / 1e6:.2f} MB", f"{spent:.1f} ms", goal, note)


def _median(work: Callable[[], object], times: int = _TIMES) -> float:
    """CPU seconds, after doing it once; what was made safe for an earlier prompt is forgotten each time."""
    spent = []
    for _ in range(times + 1):
        _forget()
        begun = time.process_time()
        work()
        spent.append(time.process_time() - begun)
    return statistics.median(spent[1:])


def _forget() -> None:
    from loop_close import prompt

    for value in vars(prompt).values():
        if hasattr(value, "cache_clear"):
            value.cache_clear()


def _of_readers() -> Iterator[tuple[str, tuple[float, float]]]:
    """Each reader on real output of its own tools, again and again up to half a megabyte and to a whole one."""
    from loop_close.readers import DEFAULT_READERS
    from loop_close.text import sanitize

    for reader in DEFAULT_READERS:
        texts = [p.with_suffix(".txt").read_text("utf-8") for p in _red_samples(reader.id)]
        text = sanitize("\n".join(texts) * (_MEGABYTE // max(1, sum(map(len, texts))) + 1))[:_MEGABYTE]
        half = text[: _MEGABYTE // 2]
        read = reader.load()
        yield reader.id, _pair(lambda t, read=read: read(t, ""), half, text)


def _red_samples(reader: str) -> list[Path]:
    paths = sorted((_CORPUS / reader).glob("*.json"))
    return [p for p in paths if json.loads(p.read_text(encoding="utf-8"))["expected"]]


def _of_detectors(red: str) -> Iterator[tuple[str, tuple[float, float]]]:
    from loop_close.detectors import DEFAULT_DETECTORS
    from loop_close.readers.streams import observe

    seen = observe(red, exit_code=1)
    less, more = (replace(seen, failures=seen.failures * times) for times in (20, 40))
    for detector in DEFAULT_DETECTORS:
        yield detector.id, _pair(lambda o, d=detector: list(d.detect(o)), less, more)


def _pair(work: Callable[[Any], object], half: Any, whole: Any) -> tuple[float, float]:
    return _median(lambda: work(half), 3), _median(lambda: work(whole), 3)


def _growth(what: str, found: dict[str, tuple[float, float]]) -> Row:
    """The highest ratio of the whole to the half: 2 is linear, 4 is quadratic."""
    ratios = {name: whole / half for name, (half, whole) in found.items() if half > _MEASURABLE}
    worst = max(ratios, key=lambda name: ratios[name], default="")
    figure = f"x {ratios[worst]:.2f} ({worst})" if worst else "too fast to measure"
    each = (f"{name} x {ratios[name]:.2f}" if name in ratios else name for name in found)
    details = (f"{one}, {found[name][1] * 1000:.1f} ms" for one, name in zip(each, found, strict=True))
    return Row("analyze", f"{what}: twice the text, at most", figure, "< x 2.5", "; ".join(details))


def _many(bench: Bench) -> Row:
    """One run with many failures, each with a name and a cause of its own, and one with twice as many."""
    from loop_close.library import close_loop

    first = max(100, bench.tests(1_000))
    numbers = [first, 2 * first]
    logs = []
    for number in numbers:
        folder = bench.folder / f"analyze-{number}"
        suites.distinct(folder, tests=number)
        logs.append(_log(bench, folder, "-q", "--tb=short", code=1))
    half, whole = _pair(lambda text: close_loop(text, exit_code=1), *logs)
    what = f"{numbers[0]:,} failures to {numbers[1]:,}"
    sizes = " and ".join(f"{len(log) / 1e6:.2f} MB" for log in logs)
    return Row("analyze", what, f"x {whole / half:.2f}", "< x 2.5", f"{sizes}, {whole * 1000:.0f} ms")


def _command(bench: Bench, log: str) -> Iterator[Row]:
    """Start to end, by turns with two commands that everybody knows."""
    path = bench.folder / "small.log"
    path.write_text(log, encoding="utf-8")
    python = bench.env.executable
    commands = {
        "loop-close analyze": [python, "-c", _COMMAND, str(path)],
        "python -c pass": [python, "-c", "pass"],
        "python -m pytest --version": [python, "-m", "pytest", "--version"],
    }
    spent: dict[str, list[float]] = {name: [] for name in commands}
    for _ in range(bench.starts + 1):
        for name, command in commands.items():
            spent[name].append(_elapsed(command, bench.folder))
    medians = {name: statistics.median(times[1:]) * 1000 for name, times in spent.items()}
    best = min(spent["loop-close analyze"]) * 1000
    others = ", ".join(f"{name} {figure:.0f} ms" for name, figure in medians.items() if "analyze" not in name)
    figure = f"{medians['loop-close analyze']:.0f} ms"
    note = f"start to end, {bench.starts} rounds by turns, fastest {best:.0f} ms; {others}"
    yield Row("analyze", f"loop-close analyze, {len(log) / 1e6:.2f} MB", figure, "< 150 ms", note)


def _elapsed(command: Sequence[str], folder: Path) -> float:
    begun = time.perf_counter()
    subprocess.run(command, cwd=folder, env=surroundings(), capture_output=True, check=False)
    return time.perf_counter() - begun
