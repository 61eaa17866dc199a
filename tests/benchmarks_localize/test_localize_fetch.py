import hashlib
import io
import tarfile
import threading

import pytest
from benchmarks.localize import fetch
from benchmarks.localize.projects import Project


@pytest.fixture
def project(tmp_path):
    """A project whose sdist is there already."""
    path = tmp_path / "sdists" / "shop-1.0.tar.gz"
    path.parent.mkdir()
    with tarfile.open(path, "w:gz") as file:
        for name in ("shop-1.0/a.py", "shop-1.0/b.py"):
            file.addfile(tarfile.TarInfo(name), io.BytesIO())
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    return Project(name="shop", version="1.0", sha256=digest, sources="shop", tests=("tests",))


def test_unpacked_once_by_jobs_that_begin_together(project, tmp_path, monkeypatch):
    both = threading.Barrier(2, timeout=20)
    checked = fetch.sdist

    def sdist(*arguments):
        both.wait()
        return checked(*arguments)

    monkeypatch.setattr(fetch, "sdist", sdist)
    roots = []
    jobs = [threading.Thread(target=lambda: roots.append(fetch.tree(project, tmp_path))) for _ in range(2)]
    for job in jobs:
        job.start()
    for job in jobs:
        job.join()
    assert roots == [tmp_path / "trees" / "shop-1.0"] * 2
    assert sorted(each.name for each in roots[0].iterdir()) == ["a.py", "b.py"]
    assert [each.name for each in roots[0].parent.iterdir()] == ["shop-1.0"]


def test_another_file_than_the_pinned_one_is_refused(project, tmp_path):
    (tmp_path / "sdists" / "shop-1.0.tar.gz").write_bytes(b"other")
    with pytest.raises(RuntimeError, match="not the pinned file"):
        fetch.tree(project, tmp_path)
