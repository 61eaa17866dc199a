import pytest

from loop_close.monitor.contexts import tests_of as by_context

A = "tests/test_a.py"


@pytest.mark.parametrize("phase", ["setup", "run", "teardown"])
@pytest.mark.parametrize("static", ["", "py3.11|"])
@pytest.mark.parametrize(
    "nodeid",
    [
        f"{A}::test_it",
        f"{A}::TestIt::test_it[a|b]",
        f"{A}::test_it[x::y|run]",
        "README.md::README.md",
        "x.yaml",
    ],
)
def test_context_of_pytest_cov_is_a_node_id(nodeid, static, phase):
    context = f"{static}{nodeid}|{phase}"
    assert by_context([context, ""], []) == {context: (nodeid,)}


@pytest.mark.parametrize(
    "context",
    ["", "py3.11", "static", "static|", "test", "test_x", "a.b", "a.b|c.d", "mod.Class.method", "|run"],
)
def test_other_contexts_are_of_no_test(context):
    assert by_context([context], [f"{A}::test_it"]) == {}


@pytest.mark.parametrize(
    ("context", "nodeid"),
    [
        ("test_a.test_it", f"{A}::test_it"),
        ("static|test_a.test_it", f"{A}::test_it"),
        ("tests.test_a.test_it", f"{A}::test_it"),
        ("project.tests.test_a.test_it", f"{A}::test_it"),
        ("test_a.test_it", f"{A}::test_it[a.b::c]"),
        ("test_a.Test.Inner.test_it", f"{A}::Test::Inner::test_it"),
        ("test_a.Test.runTest", f"{A}::Test::runTest"),
    ],
)
def test_context_of_a_function_is_that_of_the_failing_test(context, nodeid):
    assert by_context([context], [nodeid]) == {context: (nodeid,)}


@pytest.mark.parametrize(
    ("context", "nodeid"),
    [
        ("test_b.test_it", f"{A}::test_it"),
        ("xtest_a.test_it", f"{A}::test_it"),
        ("other.test_a.test_it", f"{A}::test_it"),
        ("test_a.Test.test_it", f"{A}::test_it"),
        ("test_a.test_it", f"{A}::Test::test_it"),
        ("test_a.test_its", f"{A}::test_it"),
        ("test_a.test_it", A),
    ],
)
def test_context_of_another_function_is_a_passing_test(context, nodeid):
    assert by_context([context], [nodeid]) == {context: (context,)}


def test_function_stands_for_all_of_its_failing_cases():
    failed = [f"{A}::test_it[2]", f"{A}::test_it[1]"]
    assert by_context(["test_a.test_it"], failed) == {"test_a.test_it": tuple(sorted(failed))}


def test_name_that_tests_of_several_files_share_is_of_neither():
    failed = ["tests/one/test_a.py::test_it", "tests/two/test_a.py::test_it"]
    assert by_context(["test_a.test_it"], failed) == {"test_a.test_it": ()}


def test_longer_name_tells_files_apart():
    failed = ["tests/one/test_a.py::test_it", "tests/two/test_a.py::test_it"]
    names = ["one.test_a.test_it", "two.test_a.test_it", "test_a.test_it"]
    assert by_context(names, failed) == {
        names[0]: (failed[0],),
        names[1]: (failed[1],),
        names[2]: (names[2],),
    }


@pytest.mark.parametrize(
    "context", ["conftest.test_client", "tests.conftest.test_db", "_pytest.fixtures.test_db"]
)
def test_fixture_with_the_name_of_a_test_is_none(context):
    assert by_context([context], []) == {context: ()}
