from loop_close.readers.checkers import READERS

read_mypy = READERS["mypy"]

GREEN = "Success: no issues found in 3 source files\n"
ERROR = 'src/a.py:3: error: Name "x" is not defined  [name-defined]\n'


def one(text, root=""):
    (failure,) = read_mypy(text, root).failures
    return failure


def test_notes_alone_and_json_of_another_program_are_no_failure():
    assert read_mypy('src/a.py:3: note: Revealed type is "int"\n', "").failures == ()
    assert read_mypy('{"file": "a.py", "message": "saved", "hint": "use --force"}\n', "").failures == ()


def test_green_is_certain_and_accounted_for():
    reading = read_mypy(f"x\n{GREEN}", "")
    assert (reading.failures, reading.is_certain, reading.spans) == ((), True, ((2, 1 + len(GREEN)),))


def test_note_elsewhere_belongs_to_no_error():
    text = ERROR + 'src/b.py:1: note: "f" defined here\nsrc/a.py:3: note: far\n'
    assert one(text).message == 'Name "x" is not defined'


def test_code_in_brackets_is_a_code_only_at_the_end():
    failure = one('a.py:1: error: Value of type "list[int]" is not [indexable]\n')
    assert (failure.code, failure.message) == ("indexable", 'Value of type "list[int]" is not')
    assert one('a.py:1: error: got "list[int]"\n').code == ""


def test_windows_paths():
    failure = one("C:\\shop\\src\\a.py:3:7: error: Bad  [misc]\n", "C:/shop")
    assert (failure.file, failure.line, failure.raised.details) == ("src/a.py", 3, {})


def test_file_outside_of_the_project_is_named_without_its_folder():
    failure = one("/usr/lib/python3/dist-packages/lib/a.py:3: error: Bad  [misc]\n", "/srv/shop")
    assert (failure.file, failure.line) == ("", 0)
    assert failure.message == "Bad\nin lib/a.py, line 3"
    assert failure.raised.frames == ()


def test_carets_far_away_belong_to_something_else():
    failure = one(ERROR + "\nother output\n    x = 1\n    ^\n")
    assert failure.raised.site.statement == ""


def test_escapes_spelled_in_json_are_stripped():
    line = (
        '{"file": "a.py", "line": 1, "column": -1, "message": "\\u001b[31mBad\\u202e",'
        ' "hint": null, "code": null, "severity": "error"}'
    )
    failure = one(line)
    assert (failure.message, failure.raised.details) == (r"Bad\u202e", {})
