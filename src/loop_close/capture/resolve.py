"""Look up what a name stood for in a frame, without running any of the program's code."""

from __future__ import annotations

import ast
from collections.abc import Collection
from types import FrameType, ModuleType

from loop_close.capture.definitions import origin_of, origin_of_attribute
from loop_close.capture.namespaces import MISSING, Namespaces
from loop_close.capture.project import Project
from loop_close.model import Origin

_MODULE = vars(type)["__module__"].__get__


class FrameLookup:
    """Resolves expressions to project functions, by the namespaces of one frame, which are in ``names``.

    Attributes are read statically: no ``__getattr__``, property or descriptor of the program is run.

    :param fixtures: names of the fixtures the test asked for; a parameter of that name is the fixture's value.
    """

    def __init__(self, frame: FrameType, project: Project, fixtures: Collection[str] = ()) -> None:
        self._locals = dict(frame.f_locals)
        self.names = Namespaces(self._locals, frame.f_globals)
        self._project = project
        self._fixtures = fixtures

    def origin(self, node: ast.expr) -> Origin | None:
        """The project function, property or class that ``node`` names; None for everything else."""
        found = self.names.value(node)
        known = origin_of(found, self._project) if found is not MISSING else None
        if known is None and isinstance(node, ast.Name):
            return self._fixture(node)
        return known

    def attribute(self, node: ast.Attribute) -> Origin | None:
        """A plain attribute of an instance of a project class."""
        owner = self.names.value(node.value)
        cls = self.names.class_of(node.value) if owner is MISSING else type(owner)
        if cls is MISSING or issubclass(cls, type | ModuleType):
            return None
        return origin_of_attribute(cls, node.attr, self._project)

    def _fixture(self, node: ast.Name) -> Origin | None:
        """The fixture behind a parameter, where its value is data and so tells nothing of its own origin."""
        if node.id not in self._fixtures or node.id not in self._locals:
            return None
        if _MODULE(type(self._locals[node.id])) != "builtins":
            return None
        return Origin(file="", line=0, function=f"fixture {node.id}")
