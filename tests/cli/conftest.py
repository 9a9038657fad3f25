"""A folder with what a user has, and the command to run in it."""

from collections.abc import Callable
from pathlib import Path

import pytest
import skops.io
from applicants import applicants, decisions, trained

from counterpoint.cli import main


@pytest.fixture(scope="session")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a folder with what a user has: known.csv with its label, refused.csv, x.json and model.skops."""
    folder = tmp_path_factory.mktemp("scene")
    known, others = applicants(300), applicants(80, seed=1)
    model = trained(known)
    known.assign(decision=decisions(known)).to_csv(folder / "known.csv", index=False)
    refused = others[model.predict(others) == "refused"].reset_index(drop=True)
    refused.to_csv(folder / "refused.csv", index=False)
    refused[:1].to_json(folder / "x.json", orient="records")
    skops.io.dump(model, folder / "model.skops")
    return folder


@pytest.fixture
def here(scene: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in a folder of one's own that holds the scene's files."""
    for file in scene.iterdir():
        (tmp_path / file.name).symlink_to(file)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def explain(here: Path) -> Callable[..., int]:
    """Run `counterpoint explain` on the scene, with further arguments or others instead."""

    def run(*more: str, model: str = "model.skops", data: str = "known.csv", target: str = "decision") -> int:
        start = ["explain", "--model", model, "--data", data]
        return main([*start, *(["--target", target] if target else []), *more])

    return run
