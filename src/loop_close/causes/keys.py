"""The sameness keys of a failure: two failures that share one have the same root cause.

Each key is a tuple of plain strings whose first item names the rule. Source text may identify (it is code);
values that a program made at run time do not, unless they name the very thing that is missing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from loop_close.causes.findings import finding_key
from loop_close.facts import (
    TURNING,
    import_cycle,
    innermost,
    is_a,
    is_about_a_file,
    is_assertion,
    leaves,
    links,
    test_function,
)
from loop_close.model import Failure, Frame, Origin, Raised
from loop_close.text.normalize import mask, stabilize

Key = tuple[str, ...]

_NONE_MISUSED = re.compile(r"\bNoneType\b")
_NONE_COMPARED = re.compile(r"\Aassert None\b|\ANone != |\n \+  where None = ")
_TEST_FUNCTION = re.compile(r"(?:\A|\.)test\w*(?:\.<locals>|\Z)")
#: Types that every program has: an attribute that one of them lacks says little about the place to look.
_BUILTIN_TYPES = frozenset(
    (
        *(
            "NoneType",
            "bool",
            "int",
            "float",
            "complex",
            "str",
            "bytes",
            "bytearray",
            "list",
            "tuple",
            "dict",
            "set",
        ),
        *(
            "frozenset",
            "range",
            "slice",
            "function",
            "method",
            "builtin_function_or_method",
            "property",
            "type",
        ),
        *("generator", "coroutine", "async_generator", "map", "filter", "zip", "dict_keys", "dict_values"),
    )
)
_MISSING_FILE = ("FileNotFoundError", "NotADirectoryError", "IsADirectoryError", "PermissionError")


def cause_keys(kind: str, failure: Failure) -> tuple[Key, ...]:
    """The keys of a failure, at least one. Equal exceptions in equal places give equal keys.

    :param kind: the kind a detector gave it; failures of different kinds never share a cause.
    """
    raised = failure.raised
    if failure.phase == "check":
        return (finding_key(kind, failure),)
    if raised is None:
        return ((kind, "words", test_function(failure.nodeid), mask(failure.message)),)
    thing = missing_thing(raised)
    if thing:
        return ((kind, *thing),)
    return tuple((kind, *key) for key in _keys(failure, raised))


def missing_thing(raised: Raised) -> Key | None:
    """What does not exist, for the errors that are about just that. The same thing is the same cause."""
    details = raised.details
    if "environment" in details:
        return "environment", details["environment"]
    if "fixture" in details:
        return "fixture", details["fixture"]
    if is_a(raised, "SyntaxError") and is_about_a_file(raised):
        return "syntax", details["path"]
    cycle = import_cycle(raised)
    if cycle:
        return "circle", *sorted(cycle)  # whichever of them was imported first
    if is_a(raised, "ImportError") and "name" in details:
        return "import", details.get("owner", ""), details["name"]
    if is_a(raised, *_MISSING_FILE) and "path" in details:
        return _missing_file(raised)
    if is_a(raised, "NameError", "AttributeError") and "name" in details:
        return _missing_name(raised)
    return None


def _missing_file(raised: Raised) -> Key | None:
    """The file, unless it lies in a temporary folder: then nobody wrote it, and its name is a value."""
    path = stabilize(raised.details["path"])
    return None if "<tmp>" in path else ("file", raised.type, path)


def _missing_name(raised: Raised) -> Key | None:
    """A name that code uses and that nothing defines; a ``str`` where an object was expected is another matter."""
    owner = raised.details.get("owner", "")
    if owner in _BUILTIN_TYPES:
        return None
    where = "" if owner else _file_of(innermost(raised))
    return "name", raised.type, owner, where, raised.details["name"]


def _file_of(frame: Frame | None) -> str:
    return frame.file if frame is not None else ""


def _keys(failure: Failure, raised: Raised) -> Iterator[Key]:
    site = raised.site
    origins = _origin_key(site.origins) if site is not None else ()
    chain = _chain_key(raised)
    wrong = _wrong_type(raised)
    if origins and wrong:
        yield ("type", wrong, *origins)
    if raised.members:
        yield ("group", raised.type, *sorted({"/".join(_place_key(leaf)) for leaf in leaves(raised)}))
    elif is_a(raised, "RecursionError"):
        last = raised.frames[-TURNING:]
        yield ("recursion", *sorted({f"{f.file}:{f.function}" for f in last if not f.is_test}))
    elif is_assertion(raised) or _raised_in_test(raised):
        yield from _verdict_keys(failure, raised, origins)
    elif site is not None and _handed_on(raised):
        yield ("call", raised.type, site.frame.file, site.frame.function, site.statement, *chain)
    else:
        yield from _accident_keys(failure, raised, chain)


def _wrong_type(raised: Raised) -> str:
    """The type of the value that was used as something else (``NoneType`` most often); empty for other troubles."""
    pattern = _NONE_COMPARED if is_assertion(raised) else _NONE_MISUSED
    if pattern.search(raised.message):
        return "NoneType"
    owner = raised.details.get("owner", "")
    return owner if owner in _BUILTIN_TYPES else ""


def _raised_in_test(raised: Raised) -> bool:
    """Whether the test's own statement failed: what it called is what matters."""
    frame = raised.site.frame if raised.site is not None else innermost(raised)
    return frame is not None and frame.is_test and _TEST_FUNCTION.search(frame.function) is not None


def _handed_on(raised: Raised) -> bool:
    """Whether the site is a call of a helper that judged its arguments, not the raise itself."""
    frame = innermost(raised)
    return frame is not None and raised.site is not None and raised.site.frame != frame


def _verdict_keys(failure: Failure, raised: Raised, origins: Key) -> Iterator[Key]:
    """A test's verdict is about what produced the values; where that is not known, about the statement."""
    site = raised.site
    if origins:
        yield ("verdict", raised.type, *origins)
    elif site is not None:
        yield ("statement", raised.type, site.frame.file, site.frame.function, site.statement)
    else:
        yield ("test", raised.type, test_function(failure.nodeid), mask(raised.message))


def _accident_keys(failure: Failure, raised: Raised, chain: Key) -> Iterator[Key]:
    """An exception out of the code under test is about the place it came from and what kind of words it says."""
    frame = innermost(raised)
    if frame is None:
        yield ("nowhere", raised.type, mask(raised.message), *chain)
        return
    said = raised.template if raised.template is not None else mask(raised.message)
    yield ("raise", raised.type, frame.file, frame.function, said, *chain)
    if raised.template is None and "[" in failure.nodeid:
        yield ("case", raised.type, frame.file, frame.function, test_function(failure.nodeid), *chain)


def _origin_key(origins: tuple[Origin, ...]) -> Key:
    return tuple(sorted({f"{o.file}:{o.function}" for o in origins}))


def _chain_key(raised: Raised) -> Key:
    """The exceptions it came from, by type and place; their messages hold values, so they do not count.

    Neither do those that test code raised: what a test was about when it came here is another in each test.
    """
    chain = (link for link in links(raised) if link is not raised)
    return tuple("/".join(_place_key(link)) for link in chain if not _is_of_test(link))


def _is_of_test(raised: Raised) -> bool:
    frame = innermost(raised)
    return frame is not None and frame.is_test


def _place_key(raised: Raised) -> Key:
    frame = innermost(raised)
    return raised.type, _file_of(frame), frame.function if frame is not None else ""


def family(kind: str, failure: Failure) -> Key | None:
    """Failures of one family differ in wording alone; None for those that wording does not decide."""
    raised = failure.raised
    frame = innermost(raised)
    if (
        failure.phase == "check"
        or raised is None
        or frame is None
        or raised.template is not None
        or is_assertion(raised)
    ):
        return None
    if missing_thing(raised) or _handed_on(raised):
        return None
    return kind, raised.type, frame.file, frame.function, *_chain_key(raised)
