"""The code under test: its files, and the functions in a code object."""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import blake2b
from os.path import basename
from types import CodeType

from loop_close.conventions import is_test_file
from loop_close.project_files import ProjectFiles

#: CO_NEWLOCALS: set for functions; the bodies of modules and classes run in a namespace that already exists.
_IS_FUNCTION = 0x02
# Functions that Python generates for a ``def``. A call of that function does not call them.
_GENERATED = ("__annotate", "<generic parameters")

#: Identifies a function: file, first line, qualified name.
Place = tuple[str, int, str]


class Ownership(ProjectFiles):
    """Decides which files belong to the code under test; fast, as it is asked about every function that runs.

    :param root: absolute path of the project's root.
    :ivar files: results of :meth:`file_of` so far, by ``co_filename``.
    """

    def __init__(self, root: str) -> None:
        super().__init__(root)
        self.files: dict[str, str | None] = {}

    def file_of(self, filename: str) -> str | None:
        """The path of a file of the code under test, relative to the root; None for any other file and for tests."""
        if filename not in self.files:
            relative = self.relative(filename) if _is_python(filename) else None
            self.files[filename] = None if relative is None or is_test_file(relative) else relative
        return self.files[filename]

    def place_of(self, code: CodeType) -> Place:
        """What identifies the function of a code object: functions that have it in common are one."""
        return self.file_of(code.co_filename) or "", code.co_firstlineno, code.co_qualname


def _is_python(filename: str) -> bool:
    """Whether the file is Python source: templates and generated code have no usable line numbers."""
    return filename.endswith((".py", ".pyw")) or not (filename.startswith("<") or "." in basename(filename))


def codes_in(top: CodeType) -> Iterator[tuple[CodeType, CodeType | None]]:
    """All code objects inside ``top``, each once: ``top`` first, and the outer before the inner.

    :returns: pairs of a code object and the function that it counts as part of: a lambda or a comprehension counts as
        part of the function around it. That function is None for module and class bodies, and for code that Python
        generates.
    """
    left: list[tuple[CodeType, CodeType | None]] = [(top, None)]
    seen = set()  # ids: in hand-made code, one object may occur in several places
    while left:
        code, around = left.pop()
        if id(code) not in seen:
            seen.add(id(code))
            owner = _owner(code, around)
            yield code, owner
            left += [(inner, owner) for inner in reversed(code.co_consts) if isinstance(inner, CodeType)]


def is_function(code: CodeType) -> bool:
    """Whether it is the code of a ``def``, a lambda or a comprehension; not of a module or a class."""
    return bool(code.co_flags & _IS_FUNCTION) and not code.co_name.startswith(_GENERATED)


def _owner(code: CodeType, around: CodeType | None) -> CodeType | None:
    if not is_function(code):
        return None
    return around if around is not None and code.co_name.startswith("<") else code


def lines_of(code: CodeType) -> set[int]:
    """The lines of the code object's own instructions, without those of the code objects inside it."""
    return {line for *_, line in code.co_lines() if line}


def last_line(code: CodeType) -> int:
    """The last line of a function, with the code objects inside it."""
    return max([code.co_firstlineno, *(line for inner, _ in codes_in(code) for line in lines_of(inner))])


def digest_of(code: CodeType) -> str:
    """A digest of what the function does; independent of its name, its position and its file."""
    digest = blake2b(digest_size=8)
    for each, _ in codes_in(code):
        constants = [_constant(value) for value in each.co_consts]
        names = each.co_names, each.co_varnames, each.co_freevars, each.co_flags, constants
        digest.update(each.co_code + repr(names).encode("utf-8", "replace"))
    return digest.hexdigest()


def _constant(value: object) -> str:
    """The literal of a constant; a frozenset is sorted, as its order depends on the hash seed."""
    if type(value) is int:
        return hex(value)  # a long one has no decimal literal
    if isinstance(value, CodeType):
        return "code"
    if isinstance(value, frozenset):
        return repr(sorted(map(_constant, value)))
    return repr(list(map(_constant, value))) if isinstance(value, tuple) else repr(value)
