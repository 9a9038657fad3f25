"""Explain a few refused credit applicants: train a forest on German credit, ask what would have to change.

Prints the answers and writes them as a page, demo.html, to look at in a browser.
"""

from __future__ import annotations

from html import escape
from pathlib import Path

from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

import counterpoint as cp

STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.6rem } h2 { font-size: 1.2rem; margin-top: 2.5rem }
li { margin: .3rem 0 } footer { margin-top: 3rem; color: gray; font-size: .9rem }
@media (prefers-color-scheme: dark) { body { background: #181818; color: #e6e6e6 } }
"""


def main() -> None:
    """Train, explain, print, and write the page."""
    credit = cp.datasets.load("german")
    model = make_pipeline(
        make_column_transformer(
            (OneHotEncoder(handle_unknown="ignore"), list(credit.categorical)), remainder="passthrough"
        ),
        RandomForestClassifier(100, random_state=0),
    ).fit(credit.X_train, credit.y_train.map({0: "granted", 1: "refused"}))
    refused = credit.X_test[model.predict(credit.X_test) == "refused"]

    explainer = cp.Ensemble().fit(model, credit.X_train, immutable=credit.immutable)
    explanations = explainer.explain_many(refused, k=3)

    for number, explanation in enumerate(explanations[:3], start=1):
        print(f"\nRefused applicant {number}\n\n{explanation}\n")
        for sentence in explanation.sentences():
            print(f"  {sentence}")
    print(f"\nAll {len(explanations)} refused applicants\n\n{explanations}")

    page = Path("demo.html")
    page.write_text(_page(explanations), encoding="utf-8")
    print(f"\nWrote {page.resolve()}: open it in a browser.")


def _page(explanations: cp.Explanations) -> str:
    """Set the explanations of a few applicants, and the summary of all, on one page."""
    parts = []
    for number, explanation in enumerate(explanations[:5], start=1):
        sentences = "".join(f"<li>{escape(sentence)}</li>" for sentence in explanation.sentences())
        parts.append(f"<h2>Refused applicant {number}</h2><ul>{sentences}</ul>{explanation._repr_html_()}")
    return (
        "<!doctype html><html lang='en'><meta charset='utf-8'><title>Counterpoint: refused credit</title>"
        f"<style>{STYLE}</style><h1>What would have to change for these applicants to get their credit?</h1>"
        "<p>A random forest refused them. Each numbered column is a small change to the application for "
        "which the same forest grants the credit. Age, sex, housing and other features that an applicant "
        "cannot or should not have to change are held fixed.</p>"
        f"{''.join(parts)}<h2>All {len(explanations)} refused applicants</h2>{explanations._repr_html_()}"
        "<footer>Made by <code>make demo</code>.</footer></html>"
    )


if __name__ == "__main__":
    main()
