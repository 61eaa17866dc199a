import pytest

from loop_close.readers.runners import read_shell

NO_FILE = "No such file or directory"


@pytest.mark.parametrize(
    ("line", "code", "message"),
    [
        ("/bin/sh: 1: foo: not found", "command-not-found", "foo: not found"),
        ("-bash: foo: command not found", "command-not-found", "foo: command not found"),
        ("zsh: command not found: foo", "command-not-found", "foo: command not found"),
        ("bash: line 1: exec: foo: not found", "command-not-found", "foo: not found"),
        ("xargs: foo: No such file or directory", "command-not-found", "foo: No such file or directory"),
        ("nohup: failed to run command ‘x’: No such file or directory", "command-not-found", f"x: {NO_FILE}"),
        ("error: command 'gcc' failed: No such file or directory", "command-not-found", f"gcc: {NO_FILE}"),
        ("error: Failed to spawn: `foo`", "command-not-found", "foo: No such file or directory"),
        (
            "zsh: segmentation fault (core dumped)  python3 a.py",
            "SIGSEGV",
            "segmentation fault: python3 a.py",
        ),
        ("Aborted (core dumped)", "SIGABRT", "Aborted (core dumped)"),
    ],
)
def test_found(line, code, message):
    (found,) = read_shell(f"start\n{line}\n", "").failures
    assert (found.code, found.message) == (code, message)
