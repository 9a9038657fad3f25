"""Diabetes: a regressor, where a range of outcomes is wanted instead of another class.

Run it as a script (``python examples/diabetes.py``), or cell by cell in an editor that knows ``# %%``. It
needs no extra packages.
"""

# %% [markdown]
# # How much lower, and by what
# The data describe 442 patients: age, sex, body mass index, blood pressure and six blood values, and how far
# diabetes had progressed a year later, as a number from 25 to 346. A model predicts that number. A number
# has no "other decision", so we say which numbers we want.

# %%
from __future__ import annotations

import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.ensemble import GradientBoostingRegressor
from sklearn.model_selection import train_test_split

import counterpoint as cp

data = load_diabetes(as_frame=True, scaled=False)
names = {"bp": "blood_pressure", "s1": "cholesterol", "s2": "ldl", "s3": "hdl", "s6": "glucose"}
X = data.data.rename(columns=names).astype({"age": int, "sex": int})
X_train, X_test, y_train, y_test = train_test_split(X, data.target, test_size=0.3, random_state=0)
model = GradientBoostingRegressor(random_state=0, n_estimators=60, max_depth=3).fit(X_train, y_train)
predicted = model.predict(X_test)
error = np.abs(predicted - y_test).mean()
print(
    f"The model is off by {error:.0f} on average; outcomes go from {y_test.min():.0f} to {y_test.max():.0f}."
)

# %% [markdown]
# ## Without a target there is no question
# A schema says more about a column than its values show: that sex is a category although it is stored as a
# number, and that the body mass index is measured to one decimal place.

# %%
schema = cp.Schema.infer(
    X_train, categorical=["sex"], immutable=["age", "sex"], ranges={"bmi": (18.5, 45)}
).replace("bmi", step=0.1)
explainer = cp.Ensemble().fit(model, X_train, schema=schema)
patient = X_test.iloc[[int(np.argmax(predicted))]]
try:
    explainer.explain(patient)
except ValueError as refusal:
    print(f"\n{refusal}")

# %% [markdown]
# ## Below 200
# `cp.Between(high=200)` is any outcome up to 200. Age and sex do not change, and nobody is told to become
# underweight.

# %%
explanation = explainer.explain(patient, k=3, target=cp.Between(high=200))
print(f"\n{explanation}\n")
for sentence in explanation.sentences():
    print(f"- {sentence}")
outcomes = model.predict(explanation.counterfactuals)
print(f"\nThe model says of them: {', '.join(f'{outcome:.1f}' for outcome in outcomes)}.")

# %% [markdown]
# ## How far down is possible
# The lower the target, the farther away the answer. At some point there is none, and the answer says so.
# With `cp.CLOSE`, the answer is the nearest one that was found.

# %%
print()
close = cp.Ensemble(selection=cp.CLOSE).fit(model, X_train, schema=schema)
for high in (250, 200, 150, 100, 50, 20):
    answer = close.explain(patient, k=1, target=cp.Between(high=high))
    if len(answer):
        features = ", ".join(answer.changes["feature"])
        print(f"up to {high}: distance {answer.distance[0]:.2f}, changes {features}")
    else:
        print(f"up to {high}: {answer.shortfall}")

# %% [markdown]
# ## All patients above 200, and a target for each patient
# A target is any function of the model's outputs. A target that depends on x, such as "a tenth lower than
# now", needs one call per patient.

# %%
high = X_test[predicted > 200]
many = explainer.explain_many(high, k=3, target=cp.Between(high=200), progress=False)
reached = model.predict(many.frame[X.columns])
print(f"\n{many}")
print(f"\n{(reached <= 200).sum()} of {len(reached)} counterfactuals are predicted to be at most 200.")
print(f"The lowest body mass index among them is {many.frame['bmi'].min():.1f}.")

tenth_lower = [
    explainer.explain(high.iloc[[i]], k=1, target=cp.Between(high=0.9 * now))
    for i, now in enumerate(predicted[predicted > 200][:5])
]
distances = ", ".join(f"{answer.distance[0]:.2f}" for answer in tenth_lower)
print(f"To be a tenth lower, the first five have to go as far as {distances}.")
