"""Which classes the exceptions derive from that Python itself raises, as text that names them does not say."""

from __future__ import annotations

# By the parent; a name with dots is the module's and the class's, as tracebacks print it.
_CHILDREN = {
    "BaseException": "BaseExceptionGroup Exception GeneratorExit KeyboardInterrupt SystemExit "
    "asyncio.exceptions.CancelledError",
    "Exception": "ArithmeticError AssertionError AttributeError BufferError EOFError ImportError LookupError "
    "MemoryError NameError OSError ReferenceError RuntimeError StopAsyncIteration StopIteration SyntaxError "
    "SystemError TypeError ValueError Warning asyncio.exceptions.InvalidStateError "
    "asyncio.queues.QueueEmpty asyncio.queues.QueueFull concurrent.futures._base.Error configparser.Error "
    "csv.Error _csv.Error pickle.PickleError _pickle.PickleError queue.Full _queue.Empty sqlite3.Error "
    "struct.error subprocess.SubprocessError zipfile.BadZipFile",
    "ArithmeticError": "FloatingPointError OverflowError ZeroDivisionError decimal.DecimalException",
    "ImportError": "ModuleNotFoundError",
    "LookupError": "IndexError KeyError",
    "NameError": "UnboundLocalError",
    "OSError": "BlockingIOError ChildProcessError ConnectionError FileExistsError FileNotFoundError "
    "InterruptedError IsADirectoryError NotADirectoryError PermissionError ProcessLookupError TimeoutError "
    "shutil.Error socket.gaierror socket.herror ssl.SSLError urllib.error.URLError",
    "ConnectionError": "BrokenPipeError ConnectionAbortedError ConnectionRefusedError ConnectionResetError",
    "RuntimeError": "NotImplementedError PythonFinalizationError RecursionError dataclasses.FrozenInstanceError "
    "threading.BrokenBarrierError",
    "SyntaxError": "IndentationError",
    "IndentationError": "TabError",
    "ValueError": "UnicodeError json.decoder.JSONDecodeError xml.etree.ElementTree.ParseError binascii.Error",
    "UnicodeError": "UnicodeDecodeError UnicodeEncodeError UnicodeTranslateError",
    "Warning": "BytesWarning DeprecationWarning EncodingWarning FutureWarning ImportWarning "
    "PendingDeprecationWarning ResourceWarning RuntimeWarning SyntaxWarning UnicodeWarning UserWarning",
    "subprocess.SubprocessError": "subprocess.CalledProcessError subprocess.TimeoutExpired",
    "sqlite3.Error": "sqlite3.DatabaseError sqlite3.InterfaceError",
    "sqlite3.DatabaseError": "sqlite3.DataError sqlite3.IntegrityError sqlite3.InternalError "
    "sqlite3.NotSupportedError sqlite3.OperationalError sqlite3.ProgrammingError",
    "concurrent.futures._base.Error": "concurrent.futures._base.InvalidStateError",
}
_PARENT = {child: parent for parent, children in _CHILDREN.items() for child in children.split()}


def bases_of(name: str, module: str = "") -> tuple[str, ...]:
    """Names of the classes that a class derives from, nearest first; empty for one that is not Python's own."""
    if name == "ExceptionGroup" and not module:
        return "BaseExceptionGroup", "Exception", "BaseException"
    parent = _PARENT.get(f"{module}.{name}" if module else name)
    found = []
    while parent is not None:
        found.append(parent.rpartition(".")[2])
        parent = _PARENT.get(parent)
    return tuple(found)
