"""Gunpoint: time series, seen through windows and through principal components.

Run it as a script (``python examples/gunpoint.py [FOLDER]``; pictures go to FOLDER, or to a temporary one),
or cell by cell in an editor that knows ``# %%``. It needs ``pip install 'counterpoint[datasets]'`` for the
data and the pictures.
"""

# %% [markdown]
# # A gun, or only a finger?
# An actor raises a hand, holds it, and lowers it. In half of the series the hand takes a gun out of a
# holster and puts it back; in the others it only points. Each series is the position of the hand at 150
# moments.

# %%
from __future__ import annotations

import sys
from pathlib import Path
from tempfile import mkdtemp

import numpy as np
from sklearn.ensemble import ExtraTreesClassifier

import counterpoint as cp

folder = Path(*[name for name in sys.argv[1:2] if not name.startswith("-")] or [mkdtemp()])
folder.mkdir(parents=True, exist_ok=True)

series = cp.datasets.load("gunpoint")
names = {1: "gun", 2: "finger"}
y_train, y_test = (np.array([names[label] for label in y]) for y in (series.y_train, series.y_test))
model = ExtraTreesClassifier(100, random_state=0).fit(series.X_train, y_train)
decided = model.predict(series.X_test)
print(f"{series}")
print(f"The model is right about {(decided == y_test).mean():.0%} of the test series.")
x = series.X_test[(decided == "gun") & (y_test == "gun")][0]

# %% [markdown]
# ## Windows
# `cp.Kernel(10)` divides time into windows of ten moments. Unchanged windows stay the same to the last bit,
# so the changes of a counterfactual show which moments decide.

# %%
windows = cp.Ensemble(codec=cp.Kernel(10)).fit(model, series.X_train)
by_windows = windows.explain(x, k=3)
print(f"\n{by_windows}\n")
for sentence in by_windows.sentences():
    print(f"- {sentence}")
by_windows.plot().savefig(folder / "gunpoint-windows.png")

# %% [markdown]
# Which moments decide over all series? `importance` is the share of the counterfactuals that change a
# moment.

# %%
many = windows.explain_many(series.X_test[:60], k=3, progress=False)
valid = sum((model.predict(each.counterfactuals) != each.decision).sum() for each in many)
print(f"\n{valid} of {sum(map(len, many))} counterfactuals change the decision.")
share = many.importance()
by_window = np.array([share[f"{moment}"] for moment in range(0, 150, 10)])
for start, each in zip(range(0, 150, 10), by_window, strict=True):
    print(f"moments {start:3} to {start + 9:3}  {'█' * round(40 * each)} {each:.0%}")

# %% [markdown]
# ## Hold a part fixed
# The mask says which moments may not change: here, all but the time when the hand goes up.

# %%
fixed = np.ones(150, dtype=bool)
fixed[20:60] = False
rising = cp.Ensemble(codec=cp.Kernel(10)).fit(model, series.X_train, immutable=fixed)
answer = rising.explain(x, k=3)
moved = np.flatnonzero((answer.counterfactuals != x).any(axis=0))
print(f"\nWith moments 20 to 59 free: {len(answer)} of 3 found.", answer.shortfall or "")
if len(moved):
    print(f"They change nothing before moment {moved.min()} and nothing after {moved.max()}.")

# %% [markdown]
# ## Whole movements
# Windows leave jumps that no hand makes. `cp.PCA` describes a series as a mix of a few typical movements, so
# the counterfactual is a movement, too.

# %%
components = cp.PCA(8).fit(series.X_train)
movements = cp.Ensemble(codec=components).fit(model, series.X_train)
by_movements = movements.explain(x, k=3)
by_movements.plot().savefig(folder / "gunpoint-pca.png")


def largest_jump(found: cp.Explanation) -> float:
    """Return the largest step between two consecutive moments."""
    return float(np.abs(np.diff(found.counterfactuals, axis=1)).max())


print(f"\nThe components: {components.report_}.")
print(f"The largest jump in x is {np.abs(np.diff(x)).max():.2f}.")
print(f"The largest jump is {largest_jump(by_windows):.2f} by windows, ", end="")
print(f"{largest_jump(by_movements):.2f} by principal components.")
print(f"The model says of the latter: {', '.join(model.predict(by_movements.counterfactuals))}.")
print(f"\nWrote {folder / 'gunpoint-windows.png'} and {folder / 'gunpoint-pca.png'}.")
