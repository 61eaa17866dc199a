"""Turns a Python process from the project to its copy, before anything of the project is imported.

Python imports it at its start, in child processes too: its folder is on ``PYTHONPATH``. It runs under the project's
interpreter, of any version, and imports nothing of ours.
"""

import atexit
import json
import os
import sys
from importlib.machinery import PathFinder
from importlib.util import module_from_spec, spec_from_file_location

COPY, RUN = os.environ["LOOP_CLOSE_COPY"], os.environ["LOOP_CLOSE_RUN"]
_ROOTS = os.environ["LOOP_CLOSE_ROOT"].split(os.pathsep)  # as it was named, and without links
_ENVIRONMENTS = {sys.prefix, sys.exec_prefix} | set(
    os.environ["LOOP_CLOSE_ENVIRONMENTS"].split(os.pathsep)
) - {""}
_WRITES = {
    "os.remove",
    "os.rename",
    "os.mkdir",
    "os.rmdir",
    "os.link",
    "os.symlink",
    "os.truncate",
    "os.chmod",
}
_asking = []
_read = set()
_written = set()


def _below(path, folder):
    return path == folder or path.startswith(folder + os.sep)


def _in_root(path):
    is_below = any(_below(path, root) for root in _ROOTS)
    return is_below and not any(_below(path, each) for each in _ENVIRONMENTS)


def _moved(path):
    """The same path in the copy; one that is not there stays."""
    if not isinstance(path, str) or not _in_root(path):
        return path
    root = next(root for root in _ROOTS if _below(path, root))
    other = COPY + path[len(root) :]
    return other if os.path.exists(other) else path


class Finder:
    """The first of the finders: what any later one finds in the root is taken from the copy.

    Editable installations have finders of their own, of setuptools or meson.
    """

    @staticmethod
    def find_spec(name, path=None, target=None):
        for finder in sys.meta_path[sys.meta_path.index(Finder) + 1 :]:
            _asking.append(name)  # such a finder may build in the root, as in any run
            try:
                spec = finder.find_spec(name, path, target) if hasattr(finder, "find_spec") else None
            finally:
                _asking.pop()
            if spec is None:
                continue
            folders = spec.submodule_search_locations
            places = None if folders is None else [_moved(folder) for folder in folders]
            origin = _moved(spec.origin) if spec.has_location else None
            if origin and origin != spec.origin:
                return spec_from_file_location(name, origin, submodule_search_locations=places)
            if places is not None and places != list(folders):
                spec.submodule_search_locations = places
            return spec
        return None


def _audit(event, args):
    if _asking:
        return
    if event == "open" and isinstance(args[0], (str, bytes)):
        path = os.path.abspath(os.fsdecode(args[0]))
        if _in_root(path) and "__pycache__" not in path:
            mode, flags = args[1], args[2]
            if flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT) if mode is None else set(mode) & set("wax+"):
                _refuse(path)
            _read.add(path)
    elif event in _WRITES:
        for arg in args:
            if isinstance(arg, (str, bytes)) and _in_root(path := os.path.abspath(os.fsdecode(arg))):
                _refuse(path)


def _refuse(path):
    _written.add(path)
    raise PermissionError(13, "loop-close runs the tests in a copy of the project", path)


def _note():
    """What this process took from the root."""
    modules = (str(getattr(module, "__file__", "") or "") for module in list(sys.modules.values()))
    found = {"read": sorted(_read | set(filter(_in_root, modules))), "written": sorted(_written)}
    if any(found.values()):
        with open(os.path.join(RUN, f"note-{os.getpid()}.json"), "w", encoding="utf-8") as file:
            json.dump(found, file)


def _start():
    here = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [_moved(path) for path in sys.path if path != here]
    sys.path_importer_cache.clear()
    sys.meta_path.insert(0, Finder)
    spec = PathFinder.find_spec("sitecustomize")  # of the environment, which this one hides
    if spec is not None and spec.loader is not None:
        spec.loader.exec_module(module_from_spec(spec))
    sys.path.append(here)
    sys.addaudithook(_audit)
    atexit.register(_note)


_start()
