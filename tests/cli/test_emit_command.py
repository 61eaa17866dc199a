"""``loop-close emit`` on a report that pytest wrote."""

import json
import subprocess
import sys
from xml.etree import ElementTree

import pytest
from cli_harness import COMMAND, environment, loop_close, loop_close_here

from loop_close.emit import FORMATS
from loop_close.emit.formats import LIMIT

ALONE = environment(PYTEST_ADDOPTS="-p loop_close -p no:cacheprovider")
FILES = {
    "pytest.ini": "[pytest]\n",
    "shop.py": "def total(items):\n    return sum(items) - (items[0] == 3)\n",
    "test_shop.py": (
        "import pytest, shop\n"
        "@pytest.mark.parametrize('n', range(6))\n"
        "def test_total(n): assert shop.total([n, 1]) == n + 1, 'größer'\n"
    ),
}


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """A project with the report of a red run."""
    root = tmp_path_factory.mktemp("project")
    for name, content in FILES.items():
        (root / name).write_text(content, encoding="utf-8")
    words = ["-q", "--loop-close", "--loop-close-history=off", "--loop-close-json=report.json"]
    command = [sys.executable, "-m", "pytest", *words]
    subprocess.run(command, cwd=root, env=ALONE, check=False, capture_output=True)
    return root


def emit(project, *words, code=0, **options):
    start = loop_close if options.keys() - {"data"} else loop_close_here
    done = start("emit", *words, cwd=project, **options)
    assert done.returncode == code, done.stderr.decode()
    assert (done.stderr == b"") is (code == 0)
    return done.stdout.decode() if code == 0 else done.stderr.decode()


@pytest.mark.slow
@pytest.mark.parametrize("name", FORMATS)
def test_a_report_is_printed_whatever_the_locale(project, name):
    text = emit(project, name, "report.json", env=environment(PYTHONIOENCODING="ascii", LC_ALL="C"))
    assert "größer" in text
    assert text == emit(project, name, "-", data=(project / "report.json").read_bytes())


@pytest.mark.parametrize("name", FORMATS)
def test_a_file_is_written_and_replaced(project, tmp_path, name):
    target = tmp_path / "deep" / "out"
    for _ in range(2):
        assert emit(project, name, "report.json", "-o", target) == ""
    assert target.read_text(encoding="utf-8") == emit(project, name, "report.json")
    assert [path.name for path in target.parent.iterdir()] == ["out"]


def test_the_formats_can_be_read(project):
    assert json.loads(emit(project, "sarif", "report.json"))["version"] == "2.1.0"
    assert len(json.loads(emit(project, "gitlab", "report.json"))) >= 1
    assert len(ElementTree.fromstring(emit(project, "junit", "report.json")).findall(".//failure")) == 1
    assert emit(project, "github-annotations", "report.json").startswith("::error title=")


def test_a_foreign_file_is_not_replaced(project, tmp_path):
    target = tmp_path / "mine.json"
    target.write_text('{"mine": 1}')
    said = emit(project, "sarif", "report.json", "-o", target, code=64)
    assert "exists and was not written by loop-close" in said
    assert target.read_text() == '{"mine": 1}'


def test_a_report_of_a_checker_is_read(project):
    done = loop_close_here(
        "analyze",
        "--json",
        "-",
        cwd=project,
        data=b"a.py:3: error: x  [arg-type]\nFound 1 error in 1 file (checked 1 source file)\n",
    )
    text = emit(project, "gitlab", "-", data=done.stdout)
    assert [row["location"] for row in json.loads(text)] == [{"path": "a.py", "lines": {"begin": 3}}]


def test_a_shell_appends_to_the_step_summary(project, tmp_path):
    target = tmp_path / "summary.md"
    target.write_text("of another tool")
    env = environment(GITHUB_STEP_SUMMARY=str(target))
    with target.open("ab") as file:
        command = [*COMMAND, "emit", "github-summary", "report.json"]
        subprocess.run(command, cwd=project, env=env, stdout=file, check=True)
    assert target.read_text().startswith("of another tool\n\n# loop-close: 1 test fails, 5 pass\n")


@pytest.mark.parametrize("held", [LIMIT - 150, LIMIT, 2 * LIMIT])
def test_a_full_step_summary_is_not_made_fuller(project, tmp_path, held, monkeypatch):
    target = tmp_path / "summary.md"
    target.write_bytes(b"x" * held)
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(target))
    done = loop_close_here("emit", "github-summary", "report.json", cwd=project)
    assert done.returncode == 0
    assert not done.stdout or held + len(done.stdout) <= LIMIT
    said = f"loop-close: nothing was added: the step summary is full, with {held:,} bytes\n".encode()
    assert done.stderr == (b"" if done.stdout else said)


def test_the_prefix_is_put_before_paths(project):
    rows = json.loads(emit(project, "gitlab", "report.json", "--prefix", "packages/shop"))
    assert {row["location"]["path"].rpartition("/")[0] for row in rows} == {"packages/shop"}


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("no JSON", "cannot read report: it is not JSON, or cut off"),
        (
            '{"schema": "loop-close.report/1", "source": "py',
            "cannot read report: it is not JSON, or cut off",
        ),
        (
            '{"schema": "loop-close.report/1"}',
            "cannot read report: it does not fit: Object missing required field `source`",
        ),
        ('{"schema": "loop-close.report/9"}', "its schema is loop-close.report/9, this version reads"),
        ('{"a": 1}', "cannot read report: it is not a report of loop-close"),
        (None, "cannot read report: No such file or directory"),
    ],
)
def test_an_invalid_report_is_a_usage_error(tmp_path, content, said):
    if content is not None:
        (tmp_path / "report").write_text(content)
    assert said in emit(tmp_path, "sarif", "report", code=64)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "FORMAT, REPORT"),
        (["sarif"], "REPORT"),
        (["html", "report.json"], "invalid choice: 'html'"),
        (["sarif", "."], "cannot read .: Is a directory"),
        (["sarif", "report.json", "-o", "."], "-o: . is a folder; name a file"),
        (["sarif", "report.json", "-o", "/dev/null"], "-o: /dev/null is not a regular file"),
    ],
)
def test_wrong_calls(project, words, said):
    assert said in emit(project, *words, code=64)
