from loop_close.readers.processes import read_asyncio


def test_a_warning_from_elsewhere_has_no_file():
    text = "sys:1: RuntimeWarning: coroutine 'save' was never awaited\n"
    (warned,) = read_asyncio(text, "").warnings
    assert (warned.file, warned.line, warned.message) == ("", 0, "coroutine 'save' was never awaited")
