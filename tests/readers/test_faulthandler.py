from loop_close.readers.processes import read_faulthandler


def test_frames_are_outermost_first_and_of_the_project():
    text = (
        "Fatal Python error: Segmentation fault\n\nCurrent thread 0x00007f (most recent call first):\n"
        '  File "/usr/lib/python3.13/ctypes/__init__.py", line 5 in string_at\n  File "/srv/shop/a.py", line 3 in f\n'
        '  File "/srv/shop/a.py", line 9 in <module>\n\nExtension modules: a (total: 1)\n'
        "Segmentation fault (core dumped)\nmake: done\n"
    )
    reading = read_faulthandler(text, "/srv/shop")
    found = reading.failures[0].raised
    assert [(f.file, f.line, f.function) for f in found.frames] == [("a.py", 9, "<module>"), ("a.py", 3, "f")]
    assert text[reading.spans[0][1] :] == "\nmake: done\n"
