"""The peers' environments, with a real one that holds nothing."""

import pytest

from counterpoint_study.peers import PeerError, environments


def test_an_environment_is_made_until_it_is_ready(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setattr(environments, "PINS", tmp_path)
    (tmp_path / "bare.txt").write_text("# nothing\n")
    (tmp_path / "bare-nodeps.txt").write_text("no-such-package-at-all==1.0\n")
    with pytest.raises(PeerError, match=r"(?s)'bare' could not be made.*no-such-package-at-all==1\.0"):
        environments.environment_python("bare")
    assert "making the environment 'bare'" in capsys.readouterr().err
    (folder,) = (tmp_path / "cache").rglob("bare-*/")
    assert not (folder / "ready").exists()
    (folder / "ready").touch()
    assert environments.environment_python("bare") == folder / "bin" / "python"
    assert capsys.readouterr().err == ""
