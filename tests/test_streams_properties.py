"""Properties of the way from printed text to the next prompt, for all readers together."""

import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from records import any_text

from loop_close.judge import report_of
from loop_close.library import close_loop
from loop_close.prompt.compose import compose
from loop_close.prompt.sections import DEFAULT_SECTIONS
from loop_close.readers import DEFAULT_READERS
from loop_close.readers.streams import observe
from loop_close.text import sanitize

CORPUS = Path(__file__).parent / "corpus"
ALL = sorted(p for p in CORPUS.glob("*/*.txt") if p.parent.name in {r.id for r in DEFAULT_READERS})
#: Of each reader the shortest few: a hundred examples of each have to be read.
SMALL = [
    p
    for reader in DEFAULT_READERS
    for p in sorted((p for p in ALL if p.parent.name == reader.id), key=lambda p: p.stat().st_size)[:6]
]
LINES = sorted(
    {line for p in SMALL for line in p.read_bytes().decode("utf-8", "replace").splitlines(keepends=True)}
)
SGR = (
    "\x1b[0m",
    "\x1b[1m",
    "\x1b[31m",
    "\x1b[1;31m",
    "\x1b[38;5;208m",
    "\x1b[38;2;1;2;3m",
    "\x1b[m",
    "\x1b[K",
)
#: ``--quick`` reads the short ones only; ``test_corpus.py`` reads them all there, too.
every_log = pytest.mark.parametrize(
    "path",
    [pytest.param(p, marks=() if p in SMALL else pytest.mark.large) for p in ALL],
    ids=[f"{p.parent.name}-{p.stem}" for p in ALL],
)
WORD = re.compile(r"\S+")

codes = st.sampled_from([0, 1, 2, None, -11, 139, "1", 1.0, float("nan")])
pieces_of_logs = st.lists(st.sampled_from(LINES) | any_text | st.sampled_from(SGR), max_size=25).map("".join)


def read(path):
    return path.read_bytes().decode("utf-8", "replace")


def told(observation):
    return observation.failures, observation.warnings, observation.counts, observation.incomplete


def prompt_of(observation):
    return compose(report_of(observation), DEFAULT_SECTIONS, budget=2_000)


@given(pieces_of_logs | st.text(max_size=300), pieces_of_logs, codes)
def test_no_text_raises(stdout, stderr, code):
    report = close_loop(stdout, stderr, code)
    assert re.match(r"# \S", report.next_prompt)
    assert (report.verdict == "green") == (report.stall_reason == "no-stall-detected")


@given(st.binary(max_size=500), st.binary(max_size=500), codes)
def test_no_bytes_raise(stdout, stderr, code):
    assert close_loop(stdout, stderr, code).next_prompt.endswith("\n")


@given(st.sampled_from(SMALL), st.data())
def test_no_damaged_log_raises(path, data):
    raw = path.read_bytes()
    start, end = sorted(data.draw(st.tuples(*[st.integers(0, len(raw))] * 2)))
    put = data.draw(
        st.binary(max_size=8) | st.sampled_from([b"\n", b"\r", b"\x1b[31m", b"\xe2\x80\xae", b"```"])
    )
    report = close_loop(raw[:start] + put + raw[end:], exit_code=1)
    assert report.stall_reason != "no-stall-detected"


@given(pieces_of_logs, codes)
def test_no_escape_comes_through(text, code):
    report = close_loop(text, exit_code=code)
    assert "\x1b" not in sanitize(text)
    assert "\x1b" not in report.next_prompt
    assert not any("\x1b" in e.snippet or "\x1b" in e.file for e in report.evidence)


@settings(max_examples=200)
@given(st.sampled_from(SMALL), st.randoms(use_true_random=False), st.sampled_from([0, 1, None]))
def test_colours_change_nothing(path, random, code):
    plain = read(path)
    if "\x1b" in plain or "\x9b" in plain:  # half an escape sequence of its own would take in ours
        plain = sanitize(plain)
    coloured = WORD.sub(
        lambda word: (
            f"{random.choice(SGR)}{word[0]}{random.choice(SGR)}" if random.random() < 0.5 else word[0]
        ),
        plain,
    )
    assert told(observe(coloured, exit_code=code)) == told(observe(plain, exit_code=code))


@settings(max_examples=60)
@given(st.sampled_from(SMALL), st.randoms(use_true_random=False))
def test_the_order_of_failures_does_not_show(path, random):
    seen = observe(path.read_bytes(), exit_code=1)
    failures = list(seen.failures)
    random.shuffle(failures)
    assert prompt_of(replace(seen, failures=tuple(failures))) == prompt_of(seen)


@every_log
def test_the_same_on_both_streams_counts_once(path):
    text = path.read_bytes()
    assert observe(text, text, exit_code=1) == observe(text, exit_code=1)
    assert observe(text, b"\n" + text + b"\n", exit_code=1) == observe(text, exit_code=1)


def render(nodeids):
    """The least that pytest prints of a run with these failures."""
    rulers = (" test session starts ", " short test summary info ", f" {len(nodeids)} failed in 0.12s ")
    start, summary, end = (title.center(80, "=") for title in rulers)
    lines = [f"FAILED {nodeid} - ValueError: no {n} here" for n, nodeid in enumerate(nodeids)]
    return "\n".join([start, f"collected {len(nodeids)} items", "", summary, *lines, end, ""])


# What pytest lets into a node id: parameters are escaped to printable ASCII, paths and names are as they are.
_NAME = st.from_regex(r"test_[a-z0-9_éßλ名]{0,12}", fullmatch=True)
_PATH = st.from_regex(r"([a-z0-9_.+@é-]{1,8}/){0,3}test_[a-z0-9_+@é-]{1,8}\.py", fullmatch=True)
_ASCII = st.text(st.characters(min_codepoint=0x20, max_codepoint=0x7E), max_size=30)
_ODD = st.lists(
    st.sampled_from([" - ", "::", "[", "]", "a", " ", "-", "=== ", "E  ", "FAILED ", ".py::test_x"]),
    max_size=8,
)
# "] - " is where the id ends and the words begin: nothing in the summary tells that apart.
_PARAMETER = (_ASCII | _ODD.map("".join)).map(lambda p: f"[{p}]").filter(lambda p: "] - " not in p)
# "#x1B[" and "#x1B]" begin an escape sequence, as pytest spells it in XML: it is taken out.
_PARAMETER = _PARAMETER.filter(lambda p: "#x1B" not in p)
node_ids = st.builds(
    lambda path, classes, name, parameter: "::".join([path, *classes, name + parameter]),
    _PATH,
    st.lists(st.from_regex(r"Test[A-Z][a-z]{0,8}", fullmatch=True), max_size=2),
    _NAME,
    st.just("") | _PARAMETER,
)


@pytest.mark.slow
@settings(max_examples=300)
@given(st.lists(node_ids, min_size=1, max_size=6, unique=True))
def test_every_node_id_is_kept(nodeids):
    seen = observe(render(nodeids), exit_code=1)
    assert [f.nodeid for f in seen.failures] == nodeids
    assert [f.message for f in seen.failures] == [f"no {n} here" for n in range(len(nodeids))]
    assert seen.counts.failed == len(nodeids)
