"""Source as rows: functions with marks, and the statement of a test."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Sequence
from functools import lru_cache
from itertools import chain, groupby, pairwise

from loop_close.model import SourceLines
from loop_close.prompt import MAX_LINE, safe_lines, short
from loop_close.records import Record
from loop_close.syntax import Function, body_line, first_line, index_source, statement_at
from loop_close.syntax.makers import makers_of
from loop_close.text import fence

# How near to the marked line a line of a long function has to be to come before a ``return``.
_NEAR = 2
# So many lines in a row that no test ran, or of one comment, are shown as they are.
_MAX_DULL = 3
# So few lines of code between two that are shown are shown, too: the fault may be there.
_MAX_GAP = 3
# Of a longer signature the first lines are shown.
_MAX_SIGNATURE = 3
_MOST_OF_STATEMENT = 8
_MOST_OF_ASSIGNMENT = 3
_MAX_ASSIGNMENTS = 2
#: What the marks in front of a line mean; the second only if it is used.
MARKED, NOT_RUN = ">", "-"


class _Parsed(Record, frozen=True):
    """A definition in syntax.

    :ivar shift: what to add to a line of the tree to get the line in the file.
    """

    node: Function | ast.ClassDef | None
    tree: ast.Module
    shift: int


@lru_cache(maxsize=64)
def _parsed(source: SourceLines) -> _Parsed | None:
    """The syntax of consecutive lines; None if they cannot be parsed by themselves."""
    is_inner = source.lines[0][:1].isspace()
    index = index_source("\n".join([*(["if 1:"] if is_inner else []), *source.lines]))
    if index is None:
        return None
    first: ast.AST | None = next(iter(index.tree.body), None)
    if is_inner and isinstance(first, ast.If):
        first = next(iter(first.body), None)
    node = first if isinstance(first, Function | ast.ClassDef) else None
    return _Parsed(node, index.tree, source.start - 1 - is_inner)


def function_rows(
    source: SourceLines,
    *,
    marked: int = 0,
    mark: str = MARKED,
    is_mark_run: bool = True,
    alike: Collection[int] = (),
    ran: Collection[int] = (),
    cited: Collection[int] = (),
    most: int = 25,
    column: int = 0,
) -> list[str]:
    """A fenced block of a function: signature and body without the docstring, whole up to ``most`` lines.

    Of a longer one as many rows of the body: what is around the marked line, the headers of the blocks that it is in,
    and every ``return``. Of many lines in a row that no test ran, and of a long comment, the first is shown. Each
    omission is a row that counts its lines. A line has its number in the first row, after a colon, after an omission,
    and where it is marked or cited.

    :param marked: the line to mark, 0 for none.
    :param mark: its mark; with an empty one it is only what the others are chosen by.
    :param is_mark_run: the marked line ran, whatever is recorded.
    :param alike: other lines with that mark, if they are shown.
    :param ran: the lines that failing tests ran, by number; with none no line is marked as not run.
    :param cited: the lines that other parts of the prompt name by their numbers.
    :param column: where to put a caret below the marked line, from 1; 0 for none.
    :returns: rows of markdown; none if there is nothing to show.
    """
    if not source.lines:
        return []
    parsed = _parsed(source)
    head, body = _extent(source, parsed, marked)
    skipped = _not_run(parsed, ran) - ({marked} if is_mark_run else set())
    comments = _comments(source, parsed, body)
    kept = [n for n in (*head, *body) if _line(source, n).strip()]
    if len(kept) > most:
        folded = _folded(source, parsed, body, skipped, comments) - {marked}
        kept = [n for n in head if n in head[:_MAX_SIGNATURE] or n == marked]
        kept += _kept(source, parsed, body, marked, most, skipped, folded, comments)

    def omission(last: int, following: int) -> list[str]:
        """A row that counts the lines between two that are shown; empty lines and the docstring do not count."""
        docstring = range(head.stop, body.start)
        between = {n for n in range(last + 1, following) if n not in docstring and _line(source, n).strip()}
        if not between:
            return []
        is_unrun = not skipped.isdisjoint(between) and comments.issuperset(between - skipped)
        what = " of comment" if comments.issuperset(between) else ""
        return [f"{NOT_RUN if is_unrun else ' '}    … {len(between)} line{'s' * (len(between) != 1)}{what}"]

    rows: list[str] = []
    last = (head or body).start - 1
    for number in (n for n in kept if _line(source, n).strip()):
        has_number = not rows or number != last + 1 or number in cited
        rows += omission(last, number)
        last = number
        sign = NOT_RUN if number in skipped else mark if number == marked or number in alike else ""
        rows.append(_row(source, number, sign, has_number=has_number or sign == MARKED, is_first=not rows))
        if number == marked and 0 < column <= MAX_LINE:
            rows.append(" " * (len(f"{number:4}") + 1 + column) + "^")
    rows += omission(last, body.stop)
    return fence("\n".join(rows), "python") if rows else []


def statement_rows(source: SourceLines, line: int, *, with_assignments: bool = False) -> list[str]:
    """The whole statement that a line belongs to, as rows without margin; of a compound statement its header.

    Where it ends below the lines that are kept, an ellipsis follows.

    :param with_assignments: before it the statements that assigned the names that it checks from calls, the last two.
    """
    if line not in source.numbers:
        return []
    place = _statement(source, line)
    places = [*(_assignments(source, line) if with_assignments else ()), place]
    rows: list[str] = []
    last = places[0][0] - 1
    for first, end in places:
        is_next = all(_is_blank(source, number) for number in range(last + 1, first))
        rows += [] if is_next else ["…"]
        rows += _undented(
            source, first, end, _MOST_OF_STATEMENT if (first, end) == place else _MOST_OF_ASSIGNMENT
        )
        last = end
    return [*rows, "…"] if place == (line, line) and _is_begun(_line(source, line)) else rows


def _is_begun(text: str) -> bool:
    """Whether the line is no statement or header by itself."""
    return not text.rstrip().endswith(":") and index_source(text.strip()) is None


def _undented(source: SourceLines, first: int, last: int, most: int) -> list[str]:
    """The lines without their common margin, at most so many, and how many more there are."""
    lines = [_line(source, number).rstrip() for number in range(first, last + 1)]
    indent = min((len(text) - len(text.lstrip()) for text in lines if text.strip()), default=0)
    rows = [short(text[indent:]) for text in lines[:most]]
    more = len(lines) - most
    return [*rows, f"… {more} more line{'s' * (more != 1)}"] if more > 0 else rows


def _assignments(source: SourceLines, line: int) -> list[tuple[int, int]]:
    """The first and last lines of the statements that made, by calls, what the statement of a line checks."""
    parsed = _parsed(source)
    node = parsed.node if parsed is not None else None
    if parsed is None or not isinstance(node, Function):
        return []
    statement = statement_at(parsed.tree, line - parsed.shift)
    if statement is None:
        return []
    found: list[tuple[int, int]] = []
    for maker in makers_of(node, statement):
        first, last = (number + parsed.shift for number in _own_lines(maker.statement))
        above = found[-1][1] if found else source.start - 1
        if above < first and last < first_line(statement) + parsed.shift:  # each on lines of its own
            found.append((first, last))
    return found[-_MAX_ASSIGNMENTS:]


def _statement(source: SourceLines, line: int) -> tuple[int, int]:
    parsed = _parsed(source) or _parsed_end(source, line)
    found = statement_at(parsed.tree, line - parsed.shift) if parsed is not None else None
    if parsed is None or found is None:
        return line, line
    first, last = (number + parsed.shift for number in _own_lines(found))
    if not first <= line <= last:  # of an ``except`` or a ``case`` no statement is the header
        return line, line
    return max(source.start, first), min(last, source.numbers.stop - 1)


def _parsed_end(source: SourceLines, line: int) -> _Parsed | None:
    """The syntax from a later line on, up to ``line``: what is kept of a long function may begin in a statement."""
    indents = [len(text) - len(text.lstrip()) if text.strip() else 1_000 for text in source.lines]
    for at in range(1, line - source.start + 1):
        if indents[at] == min(indents[at:]) < 1_000:
            found = _parsed(SourceLines(start=source.start + at, lines=source.lines[at:]))
            if found is not None:
                return found
    return None


def _own_lines(statement: ast.stmt) -> tuple[int, int]:
    """First and last line of a statement; of a compound one those of its header."""
    body: list[ast.stmt] | None = getattr(statement, "body", None)
    first = first_line(statement)
    if isinstance(statement, ast.Match):
        return first, statement.subject.end_lineno or first
    if body:
        return first, max(first, first_line(body[0]) - 1)
    return first, statement.end_lineno or first


def _extent(source: SourceLines, parsed: _Parsed | None, marked: int) -> tuple[range, range]:
    """The lines of the signature, and those of the body; what is between them is the docstring."""
    begin, end = source.numbers.start, source.numbers.stop
    node = parsed.node if parsed is not None else None
    if parsed is None or node is None:
        return range(begin, begin), range(begin, end)
    first, top = first_line(node) + parsed.shift, node.lineno + parsed.shift
    if isinstance(node, ast.ClassDef) or node.body[0].lineno == node.lineno:  # all of it on one line
        return range(begin, begin), range(min(first, end), end)
    if first <= marked < top:
        top = first
    start = body_line(node) + parsed.shift
    stop = min(first_line(node.body[0]) + parsed.shift, end)
    if start <= node.body[0].lineno + parsed.shift:  # no docstring
        while stop - 1 > top and _is_blank(source, stop - 1):
            stop -= 1
        start = stop
    return range(top, stop), range(min(start, end), end)


def _is_blank(source: SourceLines, number: int) -> bool:
    """Whether the line has no code."""
    text = source.lines[number - source.start].strip()
    return not text or text.startswith("#")


def _folded(
    source: SourceLines, parsed: _Parsed | None, body: range, skipped: set[int], comments: set[int]
) -> set[int]:
    """The lines that say little: of many in a row that no test ran, or of a comment, all but the first."""
    lines = [n for n in body if _line(source, n).strip()]
    found: set[int] = set()
    for counted, dull in ((skipped, skipped | comments), (comments, comments)):
        for is_run, numbers in groupby(lines, dull.__contains__):
            run = [*numbers]
            if is_run and len(counted.intersection(run)) > _MAX_DULL:
                found.update(run[1:])
    return found.difference(_returns(parsed))


def _comments(source: SourceLines, parsed: _Parsed | None, body: range) -> set[int]:
    """The lines of comments alone; not what looks like one in a string of several lines."""
    texts: set[int] = set()
    if parsed is not None:
        for node in ast.walk(parsed.tree):
            if isinstance(node, ast.Constant | ast.JoinedStr):
                texts.update(range(node.lineno + 1 + parsed.shift, (node.end_lineno or 0) + parsed.shift + 1))
    return {n for n in body if _line(source, n).lstrip().startswith("#")} - texts


def _kept(
    source: SourceLines,
    parsed: _Parsed | None,
    body: range,
    marked: int,
    most: int,
    skipped: Collection[int],
    folded: set[int],
    comments: Collection[int],
) -> list[int]:
    """The numbers of those lines of a body that are shown, in order: with the omissions ``most`` rows, then short gaps.

    A ``return`` that ran comes before other lines, one that did not after those that ran; comments come last.
    """
    wanted, rest = [n for n in _returns(parsed) if n not in skipped], [n for n in body if n not in folded]
    if marked in body:
        near = [n for n in range(marked - _NEAR, marked + _NEAR + 1) if n not in folded]
        wanted = [marked, *_headers(source, parsed, marked), *near, *wanted]
        rest.sort(key=lambda number: abs(number - marked))
    rest.sort(key=lambda number: (number in skipped, number in comments))
    kept: list[int] = []
    for number in dict.fromkeys([*wanted, *rest]):
        more = sorted([*kept, number])
        omissions = sum(n + 1 < m for n, m in pairwise([body.start - 1, *more, body.stop]))
        if number in body and len(more) + omissions <= most:
            kept = more
    gaps = [range(n + 1, following) for n, following in pairwise([body.start - 1, *kept, body.stop])]
    shown = (gap for gap in gaps if folded.isdisjoint(gap) and _is_short(source, gap, comments))
    return sorted([*kept, *chain.from_iterable(shown)])


def _is_short(source: SourceLines, gap: range, comments: Collection[int]) -> bool:
    """Whether lines that are left out have so little code that they are better shown."""
    lines = {number for number in gap if _line(source, number).strip()}
    return len(lines - {*comments}) <= _MAX_GAP and len(lines) <= 2 * _MAX_GAP


def _headers(source: SourceLines, parsed: _Parsed | None, line: int) -> list[int]:
    """The first lines of the blocks that a line is in, with ``else`` and ``case``, the innermost first."""
    if parsed is None:
        return []
    own = line - parsed.shift
    found: set[int] = set()
    for node in ast.walk(parsed.tree):
        if isinstance(node, ast.match_case):
            found |= {node.pattern.lineno} if node.pattern.lineno < own <= _end(node.body) else set()
        elif isinstance(node, ast.stmt | ast.ExceptHandler) and node.lineno < own <= (node.end_lineno or 0):
            found |= {node.lineno} if hasattr(node, "body") or isinstance(node, ast.Match) else set()
            parts: list[list[ast.stmt]] = [getattr(node, name, []) for name in ("orelse", "finalbody")]
            found |= {
                _keyword_of(source, part, parsed)
                for part in parts
                if part and part[0].lineno <= own <= _end(part)
            }
    return sorted((number + parsed.shift for number in found), reverse=True)


def _end(statements: Sequence[ast.stmt]) -> int:
    return statements[-1].end_lineno or 0


def _keyword_of(source: SourceLines, part: Sequence[ast.stmt], parsed: _Parsed) -> int:
    """The line of the ``else``, ``elif`` or ``finally`` above statements."""
    number = first_line(part[0]) - 1
    while number + parsed.shift > source.start and _is_blank(source, number + parsed.shift):
        number -= 1
    is_keyword = source.lines[number + parsed.shift - source.start].lstrip().startswith(("else", "finally"))
    return number if is_keyword else part[0].lineno


def _returns(parsed: _Parsed | None) -> list[int]:
    if parsed is None:
        return []
    return sorted(n.lineno + parsed.shift for n in ast.walk(parsed.tree) if isinstance(n, ast.Return))


def _not_run(parsed: _Parsed | None, ran: Collection[int]) -> set[int]:
    """The lines of statements of which no line ran; without those that never run, such as ``global``."""
    if parsed is None or not ran:
        return set()
    found: set[int] = set()
    for node in _own_statements(parsed.node):
        first, last = _own_lines(node)
        lines = range(first + parsed.shift, last + parsed.shift + 1)
        if not any(number in ran for number in lines):
            found.update(lines)
    return found


def _own_statements(node: Function | ast.ClassDef | None) -> Iterator[ast.stmt]:
    """The statements of a function that run; not those of the functions and classes inside, which run by themselves."""
    waiting: list[ast.AST] = [node] if isinstance(node, Function) else []
    while waiting:
        for child in ast.iter_child_nodes(waiting.pop()):
            if isinstance(child, ast.stmt) and not _is_silent(child):
                yield child
            if not isinstance(child, Function | ast.ClassDef | ast.expr):
                waiting.append(child)


def _is_silent(statement: ast.stmt) -> bool:
    """Whether no line is reported for it when it runs, or for its header."""
    match statement:
        case ast.Expr(value=ast.Constant()) | ast.AnnAssign(value=None):
            return True
    silent = ast.Global | ast.Nonlocal | ast.Pass | ast.Try | ast.TryStar | ast.With | ast.AsyncWith
    return isinstance(statement, silent)


@lru_cache(maxsize=512)
def _safe_lines(source: SourceLines) -> tuple[str, ...]:
    return safe_lines(source.lines)


def _line(source: SourceLines, number: int) -> str:
    return _safe_lines(source)[number - source.start]


def _row(source: SourceLines, number: int, mark: str, *, has_number: bool, is_first: bool) -> str:
    """A row of source; the first one has its number as in ``shop.py:14``, which says what the number is."""
    margin = f"{number:4}"
    margin = margin if has_number else " " * len(margin)
    margin = f"{mark or ' '}{margin}"
    if is_first and margin[:1].isspace():
        margin = f"{f':{number}':>{len(margin)}}"
    return f"{margin} {short(_line(source, number).rstrip())}".rstrip()
