import hashlib
from types import SimpleNamespace as Tree
from uuid import uuid4

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loop_close.calls import Called, Calls
from loop_close.records import Counts, Edit, Edits, FailureRecord, Run
from loop_close.store import KEPT_RUNS, MAX_CONTENT, Store, StoreError


def a_run(**fields):
    return Run(**{"id": str(uuid4()), **fields})


def added(store, **fields):
    """Begin and finish a run; its number."""
    run = a_run(**fields)
    number = store.begin(run)
    store.finish(run)
    return number


def tree_of(root, **more):
    """The tree of the files below a root, and of ``more``, which are not there."""
    files = {
        str(path.relative_to(root)): hashlib.blake2b(path.read_bytes(), digest_size=16).hexdigest()
        for path in sorted(root.rglob("*"))
        if path.is_file() and ".loop-close" not in path.parts
    } | more
    return Tree(digest=hashlib.sha1(repr(files).encode()).hexdigest(), files=files)


# --- runs


TEXT = st.text(st.characters(codec=None), max_size=8)
OUTCOMES = st.dictionaries(
    TEXT, st.sampled_from(["passed", "failed", "skipped", "xfailed", "xpassed"]), max_size=5
)


@settings(max_examples=25)
@given(
    st.lists(
        st.builds(
            Run,
            id=st.uuids().map(str),
            check=st.sampled_from(["", "tests"]),
            scope=st.text(max_size=8),
            tree=st.text(max_size=8),
            seconds=st.floats(allow_nan=False),
            exit_code=st.none() | st.integers(-(2**31), 2**32),
            counts=st.builds(Counts, passed=st.integers(0, 2**40)),
            outcomes=st.dictionaries(
                st.text(max_size=8), OUTCOMES.map(lambda o: {ascii(k): v for k, v in o.items()})
            ),
            failures=st.lists(
                st.builds(FailureRecord, source=st.text(max_size=5), test=st.text(max_size=9)), max_size=3
            ).map(tuple),
            edits=st.builds(
                Edits, kind=st.just("effective"), edits=st.just((Edit(file="a.py", function="f"),))
            ),
        ),
        max_size=4,
        unique_by=lambda run: run.id,
    )
)
def test_runs_come_back_as_they_were(tmp_path_factory, runs):
    path = tmp_path_factory.mktemp("project") / "history.sqlite3"
    numbers = []
    with Store(path) as store:
        for run in runs:
            numbers.append(store.begin(run))
            store.finish(run)
    expected = [
        msgspec.structs.replace(run, number=number, is_finished=True)
        for number, run in zip(numbers, runs, strict=True)
    ]
    with Store(path, readonly=True) as store:
        assert store.runs() == expected
        assert store.runs(2) == expected[-2:]
    assert numbers == list(range(1, len(runs) + 1))


def test_run_is_unfinished_until_its_end(store):
    run = a_run(tree="t")
    assert store.begin(run) == 1
    assert store.runs() == [msgspec.structs.replace(run, number=1)]
    store.finish(msgspec.structs.replace(run, is_green=True))
    store.finish(msgspec.structs.replace(run, is_green=False))  # more failed after its end
    assert [(found.is_finished, found.is_green) for found in store.runs()] == [(True, False)]


def test_loop_is_of_the_newest_run_that_was_done_and_those_since(store):
    assert store.loop_runs() == []
    added(store)
    done = added(store, is_done=True)
    assert [run.number for run in store.loop_runs()] == [done]
    since = [added(store), added(store), store.begin(a_run())]
    assert [run.number for run in store.loop_runs()] == [done, *since]


def test_results_are_runs_of_checks_on_a_tree_and_the_last_of_each(store):
    added(store, tree="a")
    found = [added(store, check="tests", tree="a"), added(store, check="lint", tree="a")]
    added(store, check="tests", tree="b")
    found.append(store.begin(a_run(check="tests", tree="b")))
    assert [run.number for run in store.results("a")] == found


def test_finished_run_is_kept_if_its_row_is_gone(store):
    runs = [a_run(), a_run()]
    runs = [msgspec.structs.replace(run, number=store.begin(run)) for run in runs]
    assert store.reset() == 2
    first = added(store)
    store.finish(runs[1])
    assert [(run.number, run.id == runs[1].id) for run in store.runs()] == [(first, False), (first + 1, True)]


# --- files


def test_files_and_contents_of_a_tree_come_back(store, tmp_path):
    root = tmp_path
    (root / "src").mkdir()
    (root / "src" / "ä.py").write_text("x = 1\n" * 100)
    (root / "data.json").write_text("{}")
    first = tree_of(root)
    store.keep_files(root, first)
    (root / "data.json").write_text("[]")
    second = tree_of(root)
    store.keep_files(root, second)
    assert (store.files(first.digest), store.files(second.digest)) == (first.files, second.files)
    assert store.files("unknown") is store.content("unknown") is None
    contents = [store.content(tree.files["data.json"]) for tree in (first, second)]
    assert contents == [b"{}", b"[]"]
    assert store.content(f"{first.files['src/ä.py']}+x") == b"x = 1\n" * 100


@pytest.mark.parametrize(
    ("name", "content", "is_kept"),
    [
        ("a.py", b"x", True),
        ("secrets.py", b"x", True),
        ("data.csv", b"a;b", True),
        ("empty", b"", True),
        ("big.txt", b"x" * MAX_CONTENT, True),
        ("bigger.txt", b"x" * (MAX_CONTENT + 1), False),
        ("image.png", b"\x89PNG\0", False),
        (".env", b"x", False),
        (".env.local", b"x", False),
        ("server.pem", b"x", False),
        ("key.txt", b"-----BEGIN RSA PRIVATE KEY-----\n", False),
        ("config/credentials.json", b"{}", False),
        (".ssh/config", b"x", False),
    ],
)
def test_content_of_small_text_files_is_kept_but_none_that_is_private(
    store, tmp_path, name, content, is_kept
):
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_bytes(content)
    tree = tree_of(tmp_path)
    store.keep_files(tmp_path, tree)
    assert store.content(tree.files[name]) == (content if is_kept else None)


def test_content_of_a_file_that_changed_meanwhile_is_not_kept(store, tmp_path):
    (tmp_path / "a.py").write_text("x = 1\n")
    (tmp_path / "link.py").symlink_to("a.py")
    tree = tree_of(tmp_path, gone="1")
    (tmp_path / "a.py").write_text("x = 2\n")
    store.keep_files(tmp_path, tree)
    assert [store.content(digest) for digest in tree.files.values()] == [None] * 3


# --- calls, bounds


def function(name, passed, **fields):
    return Called(file="a.py", line=10, function=name, end_line=15, digest="d", passed=passed, **fields)


def test_calls_come_back_without_what_holds_for_one_run(store):
    ran = function("f", 3, lines={11: 3, 12: 1}, guards=("test_b",))
    calls = Calls(passed=4, functions=(ran, function("g", 0)), failed={"test_a": ((0, 11),)})
    assert store.calls("pytest") is None
    store.keep_calls("pytest", calls, ["test_a", "test_b"])
    kept = store.calls("pytest")
    assert kept.calls.functions == (ran._replace(line=0, end_line=5, lines={1: 3, 2: 1}),)
    assert [kept.has_passed(test) for test in ("test_a", "test_b", "test_c")] == [False, True, False]


def test_prune_keeps_the_last_runs_and_what_they_need(store, tmp_path):
    trees = {}
    for name in ("first", "gone", "done", "last"):
        (tmp_path / "a.py").write_text(f"x = '{name}'\n")
        trees[name] = tree_of(tmp_path)
        store.keep_files(tmp_path, trees[name])
    for name, fields in (
        ("gone", {}),
        ("first", {"check": "lint"}),
        ("done", {"check": "tests", "is_done": True}),
        *[("last", {})] * (KEPT_RUNS + 5),
    ):
        run = a_run(tree=trees[name].digest, outcomes={"pytest": {name: "passed"}}, **fields)
        store.finish(run)
    assert [run.number for run in store.runs()] == [2, 3, *range(9, KEPT_RUNS + 9)]
    for name, tree in trees.items():
        assert (store.files(tree.digest) is None) == (name == "gone")
        assert (store.content(tree.files["a.py"]) is None) == (name == "gone")
    assert store.runs()[0].outcomes == {"pytest": {"first": "passed"}}


def test_reset_leaves_nothing_on_the_disk(store, path):
    added(store, check="tests", scope="a-word-to-find")
    added(store, check="lint")
    assert store.reset() == 2
    assert store.runs() == []
    assert b"a-word-to-find" not in path.read_bytes()


def test_store_opened_for_reading_refuses_to_write(path):
    Store(path).close()
    with Store(path, readonly=True) as store, pytest.raises(StoreError, match="opened for reading"):
        store.begin(a_run())
