from report.writer import as_text, write


def test_as_text():
    assert as_text([[1, 2]]) == "1,2\n"


def test_count(tmp_path):
    assert write(tmp_path / "count.csv", [[1], [2]]) == 2


def test_one_row(tmp_path):
    path = tmp_path / "one.csv"
    write(path, [[1, 2]])
    assert path.read_text() == "1,2\n"


def test_no_rows(tmp_path):
    path = tmp_path / "empty.csv"
    write(path, [])
    assert path.read_text() == ""


def test_size(tmp_path):
    write(tmp_path / "sizes.csv", [[10, 20], [30, 40]])
    assert (tmp_path / "sizes.csv").stat().st_size == 12


def test_bytes(tmp_path):
    target = tmp_path / "bytes.csv"
    write(target, [["a"]])
    assert target.read_bytes() == b"a\n"


def test_lines(tmp_path):
    target = tmp_path / "lines.csv"
    write(target, [["a"], ["b"]])
    with target.open() as file:
        assert len(file.readlines()) == 2


def test_in_folder(tmp_path):
    folder = tmp_path / "out"
    folder.mkdir()
    write(folder / "deep.csv", [["x", "y"]])
    with open(folder / "deep.csv", encoding="utf-8") as file:
        assert file.read() == "x,y\n"
