"""The examples run as scripts, what they print holds, and they leave nothing behind."""

import os
import re
import subprocess
import sys
from pathlib import Path

EXAMPLES = Path(__file__).parents[2] / "examples"
NAMES = ("credit", "diabetes", "digits", "gunpoint", "wine")


def run(name: str, here: Path, *arguments: str) -> str:
    """Run an example in an empty folder, and give what it printed."""
    for folder in ("work", "temporary"):
        (here / folder).mkdir()
    done = subprocess.run(
        [sys.executable, "-W", "error", EXAMPLES / f"{name}.py", *arguments],
        cwd=here / "work",
        env={**os.environ, "TMPDIR": str(here / "temporary"), "PYTHONIOENCODING": "utf-8"},
        capture_output=True,
        encoding="utf-8",
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert list((here / "work").iterdir()) == []
    return done.stdout


def numbers(text: str, pattern: str) -> list[float]:
    """Find the numbers of the one line that has a pattern; # stands for a number."""
    found = re.findall(re.escape(pattern).replace(r"\#", r"(-?\d+(?:\.\d+)?)"), text)
    assert len(found) == 1, f"{pattern!r} is there {len(found)} times in:\n{text}"
    return [float(number) for number in (found[0] if isinstance(found[0], tuple) else found)]


def pictures(folder: Path) -> list[str]:
    """Find pictures, and check that they are some."""
    paths = sorted(folder.rglob("*.png"))
    assert all(path.read_bytes().startswith(b"\x89PNG") for path in paths)
    return [path.name for path in paths]


def test_every_example_is_tested_and_says_how_it_is_run() -> None:
    assert {path.stem for path in EXAMPLES.glob("*.py")} == {*NAMES, "demo"}
    for name in NAMES:
        text = (EXAMPLES / f"{name}.py").read_text(encoding="utf-8")
        assert f"python examples/{name}.py" in text
        assert text.count("\n# %%\n") == text.count("\n# %% [markdown]\n") >= 5


def test_examples_keep_no_pictures_beside_them() -> None:
    assert [path.name for path in EXAMPLES.iterdir() if path.suffix != ".py" and path.is_file()] == []


def test_credit(tmp_path: Path) -> None:
    text = run("credit", tmp_path)
    granted, all_found = numbers(text, "# of # counterfactuals are granted.")
    kept, all_rows = numbers(text, "# of # keep every immutable feature.")
    (refused,) = numbers(text, "It refuses # of them.")
    risen, moved = numbers(text, "# of # changes of present_emp_since are rises.")
    assert granted == all_found == kept == all_rows > refused > 50
    assert risen == moved > 0
    assert numbers(text, "The highest monthly payment is # DM.")[0] <= 500
    _, most = numbers(text, "# of 3 are found; they change at most #.")
    assert most <= 2
    groups = re.findall(r"^(female|male|up to 25|26 to 40|over 40) +(\d+)", text, flags=re.MULTILINE)
    assert sum(int(count) for _, count in groups) == 2 * refused
    measured = {
        name: list(map(float, rest.split()))
        for name, rest in re.findall(r"^([A-Z]+) +(.+)$", text, flags=re.MULTILINE)
    }
    assert min(measured, key=lambda name: measured[name][0]) == "CLOSE"
    assert max(measured, key=lambda name: measured[name][2]) == "DIVERSE"


def test_wine(tmp_path: Path) -> None:
    text = run("wine", tmp_path)
    assert "target='Barbera': 4 of 4 found, reached Barbera," in text
    assert "got ['Merlot']" in text
    assert "the model already gives 'Barolo'" in text
    assert numbers(text, "# of all counterfactuals miss their target.") == [0]
    pairs = re.findall(
        r"^ *(Barolo|Grignolino|Barbera) +(Barolo|Grignolino|Barbera) ", text, flags=re.MULTILINE
    )
    assert len(set(pairs)) == 6
    assert "Read back from JSON, the answer is the same: True." in text
    assert "The loaded explainer gives the same answer: True." in text
    assert pictures(tmp_path / "temporary") == ["wine.png"]


def test_diabetes(tmp_path: Path) -> None:
    text = run("diabetes", tmp_path)
    assert "target=cp.Between(low, high)" in text
    said = re.search(r"The model says of them: (.+)\.\n", text)
    assert said is not None
    outcomes = [float(outcome) for outcome in said[1].split(", ")]
    assert len(outcomes) == 3
    assert max(outcomes) <= 200
    reached, found = numbers(text, "# of # counterfactuals are predicted to be at most 200.")
    assert reached == found > 0
    assert numbers(text, "The lowest body mass index among them is #.")[0] >= 18.5
    distances = [float(away) for away in re.findall(r"^up to \d+: distance (\S+),", text, flags=re.MULTILINE)]
    assert len(distances) >= 3
    assert distances == sorted(distances)
    assert "up to 20: Found 0 of 1" in text


def test_digits(tmp_path: Path) -> None:
    text = run("digits", tmp_path)
    assert numbers(text, "The network reads #% of 397 digits correctly.")[0] >= 85
    found, upper, lower = numbers(
        text, "alone, # of 4 are found; they change # pixels of the upper half and # of the lower."
    )
    assert found > 0
    assert upper > 0
    assert lower == 0
    away = {}
    for codec in ("windows", "autoencoder"):
        read, given, _, away[codec] = numbers(
            text, f"{codec}: # of # are read as 9, # from x, # from the nearest known digit."
        )
        assert read == given == 4
    assert away["autoencoder"] < away["windows"]
    _, of, differently = numbers(text, "# of # have a counterfactual, # are read differently.")
    assert of == differently == 40
    assert pictures(tmp_path / "temporary") == ["digits-autoencoder.png", "digits-windows.png"]


def test_gunpoint(tmp_path: Path) -> None:
    text = run("gunpoint", tmp_path, str(tmp_path / "asked" / "for"))
    valid, found = numbers(text, "# of # counterfactuals change the decision.")
    assert valid == found > 100
    first, last = numbers(text, "They change nothing before moment # and nothing after #.")
    assert first >= 20
    assert last <= 59
    by_windows, by_components = numbers(text, "The largest jump is # by windows, # by principal components.")
    assert by_components < by_windows
    assert "The model says of the latter: finger, finger, finger." in text
    assert pictures(tmp_path) == ["gunpoint-pca.png", "gunpoint-windows.png"]
    assert pictures(tmp_path / "asked" / "for") == ["gunpoint-pca.png", "gunpoint-windows.png"]
