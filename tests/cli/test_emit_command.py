"""``loop-close emit`` on a report that pytest wrote."""

import subprocess
import sys

import pytest
from cli_harness import ALONE, COMMAND, SHOP, environment, loop_close, loop_close_here, put

from loop_close.emit import FORMATS


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """A project with the report of a red run."""
    root = tmp_path_factory.mktemp("project")
    for name, content in SHOP.items():
        put(root, name, content)
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


def test_a_shell_appends_to_the_step_summary(project, tmp_path):
    target = tmp_path / "summary.md"
    target.write_text("of another tool")
    env = environment(GITHUB_STEP_SUMMARY=str(target))
    with target.open("ab") as file:
        command = [*COMMAND, "emit", "github-summary", "report.json"]
        subprocess.run(command, cwd=project, env=env, stdout=file, check=True)
    assert target.read_text().startswith(
        "of another tool\n\n# loop-close: `1 test fails, 5 pass; look first at "
    )


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "FORMAT, REPORT"),
        (["sarif"], "REPORT"),
        (["html", "report.json"], "invalid choice: 'html'"),
        (["sarif", "."], "cannot read .: Is a directory"),
    ],
)
def test_wrong_calls(project, words, said):
    assert said in emit(project, *words, code=64)
