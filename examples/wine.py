"""Wine: several classes, and which of them is wanted.

Run it as a script (``python examples/wine.py [FOLDER]``; the picture goes to FOLDER, or to a temporary
one), or cell by cell in an editor that knows ``# %%``. It needs ``pip install 'counterpoint[plot]'`` for
the picture.
"""

# %% [markdown]
# # Three kinds of wine, thirteen measurements
# A model learns to distinguish three wines of Piedmont. With more than two classes, "a different decision"
# can mean several things, so we say which one we want.

# %%
from __future__ import annotations

import sys
from pathlib import Path
from tempfile import mkdtemp

import pandas as pd
from sklearn.datasets import load_wine
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import counterpoint as cp

KINDS = ("Barolo", "Grignolino", "Barbera")

folder = Path(*[name for name in sys.argv[1:2] if not name.startswith("-")] or [mkdtemp()])
folder.mkdir(parents=True, exist_ok=True)

wine = load_wine(as_frame=True)
kind = wine.target.map(dict(enumerate(KINDS)))
X_train, X_test, y_train, y_test = train_test_split(
    wine.data, kind, test_size=0.3, stratify=kind, random_state=0
)
model = make_pipeline(StandardScaler(), LogisticRegression()).fit(X_train, y_train)
print(f"The model is right about {model.score(X_test, y_test):.0%} of {len(X_test)} wines.")

# %% [markdown]
# ## Any other kind, or a certain one
# Without a target any other decision counts, and usually one is much nearer than the rest.

# %%
x = X_test[model.predict(X_test) == "Barolo"].iloc[[0]]
explainer = cp.Ensemble(selection=cp.SPARSE).fit(model, X_train)
for target in (None, "Barbera", ["Grignolino", "Barbera"]):
    answer = explainer.explain(x, k=4, target=target)
    reached = sorted(set(answer.decisions))
    print(f"\ntarget={target!r}: {len(answer)} of 4 found, reached {', '.join(reached)}, ", end="")
    print(f"nearest at {answer.distance[0]:.2f}")
    print(f"  {answer.sentences()[0]}")

# %% [markdown]
# A target that the model never predicts is an error. A wine that already has the target gets no answers.

# %%
try:
    explainer.explain(x, target="Merlot")
except ValueError as error:
    print(f"\n{error}")
print(explainer.explain(x, target="Barolo").shortfall)

# %% [markdown]
# ## What distinguishes each pair of kinds
# We explain all wines at once, for each kind as the target. If a wine is already of that kind, nothing has to
# change.

# %%
rows = []
wrong = 0
decided = pd.Series(model.predict(X_test), index=X_test.index)
for target in KINDS:
    answers = explainer.explain_many(X_test, k=3, target=target, progress=False)
    found = answers.frame
    wrong += int((model.predict(found[X_test.columns]) != target).sum())
    changes = answers.changes.assign(decided=answers.changes["instance"].map(decided))
    for before, group in changes.groupby("decided"):
        often = group["feature"].value_counts().index[:3]
        cost = found.loc[found["instance"].map(decided) == before, "distance"].mean()
        rows.append((before, target, ", ".join(often), cost))
pairs = pd.DataFrame(rows, columns=["from", "to", "changed most often", "mean distance"])
print(f"\n{pairs.sort_values(['from', 'to']).round(2).to_string(index=False)}")
print(f"\n{wrong} of all counterfactuals miss their target.")

# %% [markdown]
# ## One explainer alone
# The base explainers have the same interface as the ensemble. Each is good at something; the ensemble picks
# the best of their answers.

# %%
parts: list[cp.Explainer] = [
    cp.BruteForce(),
    cp.Tree(),
    cp.Sphere(),
    cp.Neighbours(),
    cp.CaseBased(),
    cp.Guided(),
    cp.Evolution(),
]
some = X_test.iloc[:15]
table = {
    type(part).__name__: cp.evaluate(part.fit(model, X_train), some, k=3).iloc[0]
    for part in (*parts, cp.Ensemble())
}
shown = {
    "size": "found of k",
    "dis_dist": "distance",
    "dis_count": "features changed",
    "impl": "implausibility",
}
print(f"\n{pd.DataFrame(table).T[list(shown)].rename(columns=shown).round(2)}")

# %% [markdown]
# ## Save the answer and the explainer
# An answer is saved as text, an explainer as a file. Neither contains the model.

# %%
answer = explainer.explain(x, k=4)
again = cp.Explanation.from_json(answer.to_json())
cp.save(explainer, folder / "wine.cp")
loaded = cp.load(folder / "wine.cp", model)
same = again.counterfactuals.equals(answer.counterfactuals)
print(f"\nRead back from JSON, the answer is the same: {same}.")
same = loaded.explain(x, k=4).counterfactuals.equals(answer.counterfactuals)
print(f"The loaded explainer gives the same answer: {same}.")
answer.plot().savefig(folder / "wine.png")
print(f"Wrote {folder / 'wine.png'}.")
