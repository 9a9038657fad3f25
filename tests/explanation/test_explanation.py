"""One answer: what it holds and how it reads."""

import re

import numpy as np
import pandas as pd
import polars as pl
import pytest
from made_up_answers import FEATURES, PEOPLE, ROWS, explain, nothing

from counterpoint.data.schema import Feature
from counterpoint.explanation.explanations import Explanations
from counterpoint.explanation.shortfall import Shortfall
from counterpoint.search.why import Why
from counterpoint.show import cards, wording


class TestFacts:
    def test_tables_have_the_callers_columns_and_dtypes(self):
        answer = explain()
        pd.testing.assert_frame_equal(answer.x, PEOPLE[:1].assign(purpose=PEOPLE["purpose"][0]))
        assert answer.counterfactuals.dtypes.equals(PEOPLE.dtypes)
        assert answer.counterfactuals["duration"].tolist() == [12, 36, 24]
        assert answer.counterfactuals is answer.counterfactuals
        assert answer.decisions.tolist() == ["good"] * 3
        assert len(answer) == 3

    def test_polars_gives_polars(self):
        table = pl.DataFrame({"a": [1, 2], "b": ["x", "y"]})
        answer = explain(table, row=np.array([1.0, 0.0]), rows=np.array([[2.0, 0.0]]))
        assert answer.x.equals(table[:1])
        assert answer.counterfactuals.rows() == [(2, "x")]
        assert answer.counterfactuals.schema == table.schema

    def test_an_array_gives_arrays(self):
        table = np.array([[1, 2], [3, 4]], dtype=np.int16)
        answer = explain(table, row=np.array([1.0, 2.0]), rows=np.array([[3.0, 2.0]]))
        np.testing.assert_array_equal(answer.x, np.array([1, 2], dtype=np.int16), strict=True)
        np.testing.assert_array_equal(answer.counterfactuals, np.array([[3, 2]], dtype=np.int16), strict=True)
        assert answer.changes["feature"].tolist() == ["x0"]

    def test_changes_lists_every_change_with_plain_values(self):
        changes = explain().changes
        assert changes.columns.tolist() == ["counterfactual", "feature", "from", "to"]
        assert list(changes.itertuples(index=False, name=None)) == [
            (1, "duration", 36, 12),
            (1, "purpose", "tv", "car"),
            (2, "amount", 4500.0, None),
            (2, "purpose", "tv", "<script>alert(1)</script>"),
            (2, "foreign", False, True),
            (2, "job", "clerk", None),
            (3, "duration", 36, 24),
            (3, "amount", 4500.0, 12000.0),
        ]
        assert {type(value) for value in changes["to"]} == {int, float, str, bool, type(None)}

    def test_a_value_missing_in_both_is_no_change(self):
        row = np.array([36, np.nan, 2, 0, 0])
        assert explain(row=row, rows=np.array([[12, np.nan, 2, 0, 0]])).changes["feature"].tolist() == [
            "duration"
        ]

    def test_importance_is_the_share_of_counterfactuals_largest_first(self):
        importance = explain().importance()
        assert importance.tolist() == pytest.approx([2 / 3, 2 / 3, 2 / 3, 1 / 3, 1 / 3])
        assert importance.index.tolist() == FEATURES

    def test_an_empty_answer_has_empty_facts(self):
        answer = nothing()
        assert not answer
        assert answer.counterfactuals.dtypes.equals(PEOPLE.dtypes)
        assert answer.changes.empty
        assert answer.importance().tolist() == [0] * 5
        assert answer.sentences() == []

    def test_names_that_are_tuples_or_numbers_are_kept(self):
        table = pd.DataFrame([[1, 2], [3, 4]])
        assert explain(table, np.array([1.0, 2.0]), np.array([[3.0, 2.0]])).changes["feature"].tolist() == [0]
        table = pd.DataFrame({("a", 1): [1, 2], ("b", 2): [3, 4]})
        answer = explain(table, np.array([1.0, 3.0]), np.array([[2.0, 3.0]]))
        assert answer.changes["feature"].tolist() == [("a", 1)]
        assert answer.importance().index.tolist() == [("a", 1), ("b", 2)]

    def test_making_one_does_no_work(self):
        assert not {"x", "counterfactuals", "changes", "_card"} & set(vars(explain()))


class TestSentences:
    def test_they_read_well(self):
        assert explain().sentences() == [
            "If duration were 12 instead of 36 and purpose were 'car' instead of 'tv', "
            "the decision would be 'good' instead of 'bad'.",
            "If amount were missing instead of 4500, "
            "purpose were '<script>alert(1)</script>' instead of 'tv', "
            "foreign were True instead of False and job were missing instead of 'clerk', "
            "the decision would be 'good' instead of 'bad'.",
            "If duration were 24 instead of 36 and amount were 12,000 instead of 4,500, "
            "the decision would be 'good' instead of 'bad'.",
        ]

    @pytest.mark.parametrize(
        ("decision", "label", "end"),
        [
            (np.int64(0), np.int64(1), "the decision would be 1 instead of 0."),
            (np.bool_(False), np.bool_(True), "the decision would be True instead of False."),
            (np.float64(0), np.float64(1), "the decision would be 1 instead of 0."),
            (np.float64(0.3), np.float64(0.1 + 0.7), "the output would be 0.8 instead of 0.3."),
            (np.array([0.3, 0.7]), np.array([1, 0.0]), "the output would be [1, 0] instead of [0.3, 0.7]."),
            (np.array([0, 1]), np.array([1, 1]), "the output would be [1, 1] instead of [0, 1]."),
            (np.str_("it's"), np.str_("b"), "the decision would be 'b' instead of \"it's\"."),
            (np.str_("a"), np.str_("a"), "the decision would still be 'a'."),
        ],
    )
    def test_decisions_of_every_kind(self, decision, label, end):
        assert (
            explain(rows=ROWS[:1], decision=decision, labels=np.array([label])).sentences()[0].endswith(end)
        )

    def test_a_nameless_column_is_called_a_feature(self):
        answer = explain(pd.DataFrame([[1, 2], [3, 4]]), np.array([1.0, 2.0]), np.array([[3.0, 2.0]]))
        assert answer.sentences()[0].startswith("If feature 0 were 3 instead of 1, ")

    @pytest.mark.parametrize(
        ("values", "texts"),
        [
            ([0.1 + 0.2, 0.25], ["0.3", "0.25"]),
            ([0.1, 0.1 + 1e-12], ["0.1", "0.100000000001"]),
            ([1.0, np.nextafter(1, 2)], ["1", "1.0000000000000002"]),
            ([0.3333333333, 0.3333333333], ["0.333333", "0.333333"]),
            ([np.nan, np.nan, 1 / 3], ["missing", "missing", "0.333333"]),
            ([1990, 2015], ["1990", "2015"]),
            ([9000, -10000], ["9,000", "-10,000"]),
            ([123456789, 123456790], ["123,456,789", "123,456,790"]),
            ([2**53, 2**53 - 1], ["9,007,199,254,740,992", "9,007,199,254,740,991"]),
            ([1e-7, 2.5e20], ["1e-07", "2.5e+20"]),
            ([-0.0, 100.0], ["0", "100"]),
            ([np.inf, 0.5], ["inf", "0.5"]),
        ],
    )
    def test_numbers_are_rounded_but_never_look_equal(self, values, texts):
        assert wording.number_texts(values) == texts

    def test_categories_never_look_equal(self):
        feature = Feature("a", "categorical", categories=(1, "1", None, "missing", " "))
        assert wording.value_texts(feature, np.array([0.0, 1.0])) == ["1", "'1'"]
        assert wording.value_texts(feature, np.array([2.0, 3.0])) == ["missing", "'missing'"]
        assert wording.value_texts(feature, np.array([0.0, 4.0])) == ["1", "' '"]


class TestText:
    def test_table_shows_the_changes_only(self):
        assert str(explain(rows=ROWS[[0, 2]])) == (
            "Decision: 'bad'   Wanted: any other decision   Found: 2 of 2\n\n"
            "feature    x       1       2\n"
            "─────────────────────────────────────\n"
            "duration   36      12      24\n"
            "amount     4,500   ·       12,000\n"
            "purpose    tv      car     ·\n"
            "─────────────────────────────────────\n"
            "decision   bad     good    good\n"
            "distance           0.333   0.667\n"
            "found by           Tree    BruteForce\n\n"
            "Unchanged: foreign, job."
        )

    def test_shortfall_is_told(self):
        assert str(Shortfall(5, 2, Why.MAX_SECONDS)) == "Found 2 of 5: the time limit was reached"
        text = str(nothing())
        assert "Found: 0 of 3" in text
        assert text.endswith("Found 0 of 3: none found among 812 candidates")
        assert "feature" not in text

    def test_many_counterfactuals_are_wrapped_into_blocks(self):
        rows = np.repeat(ROWS, 10, axis=0)
        rows[:, 0] += np.arange(30)
        text = str(explain(rows=rows, found_by=("SomeLongExplainer",) * 30))
        assert max(map(len, text.splitlines())) <= 100
        numbers = [n for line in re.findall(r"^feature +x +(.*)$", text, re.MULTILINE) for n in line.split()]
        assert numbers == [str(n) for n in range(1, 31)]

    def test_long_values_are_wrapped_and_control_characters_kept_out(self):
        long = "critical account or other credits existing (not at this bank)"
        table = pd.DataFrame({"a" * 40: ["x\n\x1b[31m" + "y" * 50, long]})
        answer = explain(table, np.array([1.0]), np.array([[0.0]]))
        text = str(answer)
        assert max(map(len, text.splitlines())) <= 100
        assert "\x1b" not in text
        assert all(word in text for word in long.split())

    def test_many_unchanged_features_are_cut_short(self):
        table = np.arange(60.0).reshape(2, 30)
        answer = explain(table, table[0], np.vstack([[31.0, *table[0, 1:]]]))
        assert str(answer).endswith("x11, x12 and 17 more.")

    def test_repr_is_one_line(self):
        assert repr(explain()) == "<Explanation: decision 'bad', 3 of 3 counterfactuals>"
        assert repr(Explanations([explain()] * 2)) == "<Explanations: 2 instances, 6 counterfactuals>"


class TestHtml:
    def test_changes_are_bold_and_tinted_and_the_rest_is_folded(self):
        html = explain(rows=ROWS[:1])._repr_html_()
        assert re.search(r"<td style='[^']*background[^']*'><b>12</b></td>", html)
        table, details = html.split("<details")
        assert "foreign" not in table
        assert "3 features stay the same" in details
        assert "foreign" in details

    def test_data_is_escaped(self):
        table = PEOPLE.rename(columns={"purpose": "<b>&purpose"})
        reason = Shortfall(5, 3, Why.ALREADY, target="<i>why</i>")
        answer = explain(
            table, decision=np.str_("<u>"), labels=np.array(["<s>"] * 3), target="<q>", shortfall=reason
        )
        for html in (answer._repr_html_(), Explanations([answer])._repr_html_()):
            assert not {"script", "i", "u", "s", "q"} & set(re.findall("<([a-z]+)", html))
            assert "&lt;script&gt;alert(1)&lt;/script&gt;" in html
            assert "&lt;b&gt;&amp;purpose" in html

    def test_tags_are_balanced(self):
        for shown in (explain(), nothing(), Explanations([explain(), nothing()])):
            html = shown._repr_html_()
            for tag in ("div", "table", "tr", "td", "details", "b", "span", "tbody"):
                assert len(re.findall(f"<{tag}[ >]", html)) == html.count(f"</{tag}>")

    def test_nothing_found_shows_the_instance(self):
        assert "4500" in nothing()._repr_html_()


def test_a_card_holds_what_is_shown():
    card = explain()._card
    assert isinstance(card, cards.Card)
    assert card.changes[0] == cards.Line("duration", "36", ("12", "36", "24"), (True, False, True))
    assert card.outcome[0] == cards.Line("decision", "bad", ("good",) * 3)
    assert card.same == ()
