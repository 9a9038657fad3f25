"""Credit: who was refused, what would have got them accepted, and is it harder for some groups than others.

Run it as a script (``python examples/credit.py``), or cell by cell in an editor that knows ``# %%``. It
needs ``pip install 'counterpoint[datasets]'`` for the data.
"""

# %% [markdown]
# # Refused applicants for credit
# A forest learns from 700 past credits which ones default, and refuses those that it expects to. We ask what
# the refused applicants could have done instead.

# %%
from __future__ import annotations

import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

import counterpoint as cp

credit = cp.datasets.load("german")

# An ordered category can rise and fall, as a number does.
employment = pd.CategoricalDtype(
    ["unemployed", "below 1 year", "1 to 4 years", "4 to 7 years", "7 years or more"], ordered=True
)
X_train = credit.X_train.astype({"present_emp_since": employment})
X_test = credit.X_test.astype({"present_emp_since": employment})
y_train, y_test = (y.map({0: "granted", 1: "refused"}) for y in (credit.y_train, credit.y_test))

one_hot = (OneHotEncoder(handle_unknown="ignore"), list(credit.categorical))
model = make_pipeline(
    make_column_transformer(one_hot, remainder="passthrough"),
    RandomForestClassifier(100, min_samples_leaf=5, class_weight="balanced", random_state=0),
).fit(X_train, y_train)

refused = X_test[model.predict(X_test) == "refused"]
print(f"The forest is right about {model.score(X_test, y_test):.0%} of {len(X_test)} applicants.")
print(f"It refuses {len(refused)} of them.")

# %% [markdown]
# ## Say what may change
# Nobody can become younger, and nobody should have to change sex, family or housing for a credit. Other
# changes have limits: the time in a job can only get longer, and the monthly payment must stay affordable.

# %%
MOST_PER_MONTH = 500


def is_affordable(candidates: pd.DataFrame, x: pd.DataFrame) -> pd.Series:
    """Return a mask of the candidates that pay back at most 500 DM per month."""
    return candidates["credit_amount"] / candidates["duration_in_month"] <= MOST_PER_MONTH


explainer = cp.Ensemble().fit(
    model,
    X_train,
    immutable=credit.immutable,
    ranges={"credit_amount": (250, 20_000)},
    increase=["present_emp_since"],
    rule=is_affordable,
)

# %% [markdown]
# ## One answer
# The columns 1, 2 and 3 are three ways to get the credit. Only what changes is shown.

# %%
explanation = explainer.explain(refused.iloc[[0]], k=3)
print(f"\nOne refused applicant\n\n{explanation}\n")
for sentence in explanation.sentences():
    print(f"- {sentence}")

# %% [markdown]
# The counterfactuals are rows like those the model was trained on, so the model can predict them.

# %%
print(f"\nThe model says of them: {', '.join(model.predict(explanation.counterfactuals))}.")
sparse = explainer.explain(refused.iloc[[0]], k=3, max_changes=2)
most = sparse.changes.groupby("counterfactual").size().max()
print(
    f"If at most two features may change, {len(sparse)} of {sparse.k} are found; they change at most {most}."
)

# %% [markdown]
# ## All refused at once
# This is much cheaper per row than one by one, because all rows share the model calls.

# %%
explanations = explainer.explain_many(refused, k=3, progress=False)
print(f"\n{explanations}")

found = explanations.frame
right = model.predict(found[X_train.columns]) == "granted"
fixed = list(credit.immutable)
before = refused.loc[found["instance"]].reset_index(drop=True)
kept = (found[fixed] == before[fixed]).all(axis=1)
ranks = {name: rank for rank, name in enumerate(employment.categories)}
moves = explanations.changes.query("feature == 'present_emp_since'")
risen = moves["to"].map(ranks) > moves["from"].map(ranks)
print(f"\n{right.sum()} of {len(found)} counterfactuals are granted.")
print(f"{kept.sum()} of {len(kept)} keep every immutable feature.")
print(f"{risen.sum()} of {len(risen)} changes of present_emp_since are rises.")
print(f"The highest monthly payment is {(found.credit_amount / found.duration_in_month).max():.0f} DM.")

# %% [markdown]
# ## Is recourse as cheap for all?
# The distance of the nearest counterfactual is the cost of recourse. An auditor asks whether it is the same
# for women and men, and for young and old. Few applicants were refused, so small differences may be chance.

# %%
cost = found.groupby("instance")["distance"].min().reindex(refused.index)
groups = {
    "sex": refused["personal_status_sex"].str.split(",").str[0],
    "age": pd.cut(refused["age"], [18, 25, 40, 100], labels=["up to 25", "26 to 40", "over 40"]),
}
for name, group in groups.items():
    table = cost.groupby(group.rename(name), observed=True).agg(["size", "count", "mean", "max"])
    table.columns = ["refused", "with recourse", "mean cost", "highest cost"]
    print(f"\n{table.round(2)}")

# %% [markdown]
# ## What do you want most?
# `BALANCED` is the default. The other selections prefer what their names say. `dis_dist` is the distance,
# `dis_count` the share of features that change, `div_dist` how different the answers are from each other,
# and `impl` how far they are from the nearest known applicant.

# %%
selections = {"BALANCED": cp.BALANCED, "CLOSE": cp.CLOSE, "SPARSE": cp.SPARSE, "DIVERSE": cp.DIVERSE}
few = refused.iloc[:10]
measured = {
    name: cp.evaluate(
        cp.Ensemble(selection=selection).fit(model, X_train, immutable=credit.immutable), few, k=3
    ).iloc[0]
    for name, selection in selections.items()
}
print(f"\n{pd.DataFrame(measured).T[['dis_dist', 'dis_count', 'div_dist', 'impl']].round(2)}")
