from types import SimpleNamespace

import pytest

from loop_close import files
from loop_close.pytest_plugin.calls import setting_of
from loop_close.pytest_plugin.command import targets_of


@pytest.fixture
def config(tmp_path):
    def getoption(name, default):
        return default

    given = SimpleNamespace(loop_close_suspects=None)
    return SimpleNamespace(
        stash=pytest.Stash(), rootpath=tmp_path, known_args_namespace=given, getoption=getoption
    )


def test_settings_are_read_once(config, monkeypatch):
    (config.rootpath / "pyproject.toml").write_text("[tool.loop-close]\nsuspects = 'on'\n")
    reads, read = [], files.settings_table
    monkeypatch.setattr(files, "settings_table", lambda root: reads.append(root) or read(root))
    assert setting_of(config) == "on"
    assert targets_of(config).settings.suspects == "on"
    assert reads == [config.rootpath]


@pytest.mark.parametrize("text", ["[tool", "[tool]\nloop-close = 5\n", "[tool.loop-close]\nsuspects = 5\n"])
def test_what_is_wrong_is_told_where_all_settings_are_read(config, text):
    (config.rootpath / "pyproject.toml").write_text(text)
    assert setting_of(config) in ("auto", "5")
    with pytest.raises(pytest.UsageError, match="loop-close: "):
        targets_of(config)
