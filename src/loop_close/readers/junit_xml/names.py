"""Which test a ``testcase`` element is about: pytest's node id, made again from what its file says.

pytest writes ``tests/test_a.py::TestX::test_y`` as class name ``tests.test_a.TestX`` and name ``test_y``. Where
the module ends is told by, in this order: the ``file`` attribute (junit_family ``xunit1``, unittest-xml-reporting);
a file that the traceback names and whose dotted path the class name begins with; the last part that is named like
a test module (``test_…``, ``…_test``); else the parts at the end that begin with a capital are classes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

from loop_close.readers.paths import project_path

_MAX_FILES = 50
_MAX_FOLDERS = 40
_MAX_NAME = 2_000
_MENTIONED = re.compile(
    r"^(?P<place>[^\s:\"'][^:\n\"']{0,500}+):\d{1,9}:"
    r"|^[ |]{0,40}File \"(?P<file>[^\"\n]{1,500})\", line \d{1,9}"
    r"|test module '(?P<module>[^'\n]{1,500})'",
    re.MULTILINE,
)
_TEST_MODULE = re.compile(r"test_\w{0,200}|\w{1,200}_test|conftest", re.ASCII)
_EXTENSIONS = ("txt", "rst", "md", "ipynb", "yaml", "yml", "feature")
_CLASS_FIXTURE = re.compile(r"(?P<when>setUp|tearDown)(?:Class|Module) \((?P<dotted>[\w.]{1,500})\)\Z")
_FAILED_IMPORT = "unittest.loader._FailedTest"


@dataclass(frozen=True, kw_only=True, slots=True)
class Named:
    """A test as its element names it.

    :ivar file: where it stands; empty when that is not told.
    :ivar prefix: what the class name begins with that is no part of the path, with its dot.
    :ivar is_placed: the element says itself which file that is, so that its line counts in there.
    """

    nodeid: str
    file: str = ""
    subtest: str = ""
    prefix: str = ""
    is_placed: bool = False


def python_test(classname: str, name: str, file: str, text: str, root: str, prefix: str = "") -> Named:
    """The node id of a test in Python.

    :param file: the ``file`` attribute.
    :param text: the traceback.
    :param prefix: the prefix of other cases in the suite.
    """
    subtest = ""
    if fixture := class_fixture(classname, name):
        classname, name = fixture[1], ""
    else:
        name, subtest = _without_subtest(name[:_MAX_NAME])
    if classname.startswith(_FAILED_IMPORT):
        classname, name, file = f"{classname}.{name}".removeprefix(f"{_FAILED_IMPORT}."), "", ""
    if not classname:
        classname, name = name, ""
    own = project_path(file, root) or ""
    dotted = classname[:_MAX_NAME].removeprefix(prefix).split(".")
    module, classes = _split(dotted, own, text, root)
    nodeid = "::".join([module, *classes, *([name] if name else [])])
    found = _prefix(dotted, module, classes)
    return Named(
        nodeid=nodeid, file=own or module, subtest=subtest, prefix=found, is_placed=bool(own and name)
    )


def other_test(classname: str, name: str, file: str, root: str) -> Named:
    """What to call a test of another language: its file or class where it has one, then its name."""
    if not file and "/" in classname and "." in classname.rpartition("/")[2]:
        file, classname = classname, ""  # vitest
    own = project_path(file, root) or ""
    parts = [own, classname if classname not in name else "", name]
    return Named(nodeid="::".join(part[:_MAX_NAME] for part in parts if part), file=own, is_placed=bool(own))


def class_fixture(classname: str, name: str) -> tuple[str, str] | None:
    """``setUp`` or ``tearDown``, and the class, of an element that unittest's runners write for a class's fixture."""
    # nose2 parts "setUpClass (a.b.C)" at its last dot
    found = _CLASS_FIXTURE.match(name) or _CLASS_FIXTURE.match(f"{classname}.{name}")
    return (found["when"], found["dotted"]) if found else None


def _without_subtest(name: str) -> tuple[str, str]:
    """Runners of unittest write ``test_x [message] (name=value)`` for a subtest."""
    test, _, rest = name.partition(" ")
    is_subtest = test.isidentifier() and rest[:1] in ("[", "(") and rest[-1:] in ("]", ")")
    return (test, rest) if is_subtest else (name, "")


def is_failed_import(classname: str) -> bool:
    """Whether unittest made the test up for a module that it could not import."""
    return classname.startswith(_FAILED_IMPORT)


def _split(dotted: Sequence[str], own: str, text: str, root: str) -> tuple[str, Sequence[str]]:
    """The file of the module, and the classes inside it."""
    for file in [own] if own else []:
        if found := _matched(dotted, file):
            return found
    matches = (_matched(dotted, file) for file in _files(text, root))
    best = max((m for m in matches if m is not None), key=lambda m: len(m[0]), default=None)
    return best or _by_convention(dotted)


def _files(text: str, root: str) -> Iterator[str]:
    """The files that a traceback names, each once."""
    seen: dict[str, None] = {}
    for found in _MENTIONED.finditer(text):
        path = project_path(found["place"] or found["file"] or found["module"], root)
        if path and path not in seen and len(seen) < _MAX_FILES:
            seen[path] = None
            yield path


def _matched(dotted: Sequence[str], file: str) -> tuple[str, Sequence[str]] | None:
    """The file as it counts from pytest's root, if the class name is about it, and the classes."""
    folders = file.removesuffix(".py").split("/")
    if len(folders) > _MAX_FOLDERS:
        return None
    parts = [part.split(".") for part in folders]
    for start in range(len(folders)):
        path = list(chain.from_iterable(parts[start:]))
        if list(dotted[: len(path)]) == path:
            return _joined(folders[start:], file), dotted[len(path) :]
    return _after_prefix(dotted, file, folders, list(chain.from_iterable(parts)))


def _after_prefix(
    dotted: Sequence[str], file: str, folders: list[str], path: list[str]
) -> tuple[str, Sequence[str]] | None:
    """The same behind other parts: ``--junitprefix``, or the folder that pytest was started in."""
    for at in range(1, len(dotted) - len(path) + 1):
        if list(dotted[at : at + len(path)]) == path:
            # A lone file name has no folder because pytest was started in it.
            above = [] if len(folders) > 1 else list(dotted[:at])
            return _joined([*above, *folders], file), dotted[at + len(path) :]
    return None


def _prefix(dotted: Sequence[str], module: str, classes: Sequence[str]) -> str:
    """The parts of a class name that are neither of the path nor classes, with a dot."""
    path = module.removesuffix(".py").replace("/", ".").split(".")
    return "".join(f"{part}." for part in dotted[: max(len(dotted) - len(path) - len(classes), 0)])


def _joined(folders: Sequence[str], file: str) -> str:
    return "/".join(folders) + (".py" if file.endswith(".py") else "")


def _by_convention(dotted: Sequence[str]) -> tuple[str, Sequence[str]]:
    if len(dotted) > 1 and dotted[-1] in _EXTENSIONS:
        return f"{'/'.join(dotted[:-1])}.{dotted[-1]}", ()
    modules = [at for at, part in enumerate(dotted) if _TEST_MODULE.fullmatch(part)]
    end = modules[-1] + 1 if modules else len(dotted)
    while not modules and end > 1 and dotted[end - 1][:1].isupper():
        end -= 1
    return "/".join(dotted[:end]) + ".py", dotted[end:]
