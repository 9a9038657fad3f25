"""The page in a real browser: all that a person can do with a table, on the demo's credit applicants."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import screen

import counterpoint as cp
from counterpoint.cli import parser
from counterpoint.cli.open import calls_of, with_demo
from counterpoint.web.page.calls import Calls
from counterpoint.web.page.opening import open_page

REFUSED = 4  # the first applicant of the demo whom the model refuses


@pytest.fixture(scope="module")
def calls(tmp_path_factory: pytest.TempPathFactory) -> Calls:
    """The demo's page, as `counterpoint open --demo` makes it."""
    screen.browser_path()
    folder = tmp_path_factory.mktemp("demo")
    found: Calls = calls_of(with_demo(parser("open").parse_args(["open", "--demo"]), folder))
    return found


@pytest.fixture(scope="module")
def address(calls: Calls) -> Iterator[str]:
    with open_page(calls, browser=False) as page:
        yield page.address


@pytest.fixture
def tab(browser: Any, address: str) -> Iterator[Any]:
    """The page on the first refused applicant, with its answers drawn."""
    with screen.tab_of(browser) as opened:
        visit(opened, address)
        yield opened


def visit(tab: Any, address: str, **state: Any) -> None:
    tab.goto(f"{address}#{json.dumps(state)}" if state else address)
    settled(tab)


def settled(tab: Any) -> None:
    """Wait until all that follows from the last change is drawn."""
    tab.wait_for_function(
        "() => { const desk = window.counterpoint; return desk?.answer && desk.map && desk.flips"
        " && desk.baseRow === desk.state.row && !desk.node.classList.contains('busy')"
        " && desk.asked.answers === JSON.stringify(desk.question()); }"
    )


def state(tab: Any) -> dict[str, Any]:
    found: dict[str, Any] = tab.evaluate("() => window.counterpoint.state")
    return found


def cards(tab: Any) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = tab.evaluate("() => window.counterpoint.cards")
    return found


def changed(tab: Any) -> list[set[str]]:
    return [{change["feature"] for change in card["changes"]} for card in cards(tab)]


def button(tab: Any, name: str) -> Any:
    return tab.get_by_role("button", name=name, exact=True)


# ---------------------------------------------------------------- 1: pick a case, or type one


def test_it_opens_on_a_refused_case_with_answers(tab: Any, tmp_path: Path) -> None:
    assert state(tab)["row"] == REFUSED
    assert tab.locator(".verdict strong").inner_text() == "refused"
    assert "needs 50%" in tab.locator(".verdict").inner_text()
    assert tab.locator(".card").count() == 5
    screen.keep(tab, tmp_path, "page-case")


def test_cases_are_searched_sorted_filtered_and_picked(tab: Any, tmp_path: Path) -> None:
    button(tab, "All cases").click()
    rows = tab.locator(".cases tbody tr")
    tab.get_by_role("radio", name="refused").first.check()
    tab.get_by_label("Search cases").fill("used car")
    tab.wait_for_function("() => [...document.querySelectorAll('.cases tbody tr')].length < 20")
    assert all("refused" in text and "used car" in text for text in rows.all_inner_texts())
    tab.get_by_label("Search cases").fill("")
    tab.wait_for_function("() => [...document.querySelectorAll('.cases tbody tr')].length > 20")
    button(tab, "Age").click()
    tab.wait_for_selector("th[aria-sort=ascending]")
    button(tab, "Age").click()
    tab.wait_for_selector("th[aria-sort=descending]")
    age = [list(cp.datasets.load("german").X_train).index("age") + 2]
    ages = [int(row.locator("td").nth(age[0]).inner_text()) for row in rows.all()]
    assert ages == sorted(ages, reverse=True)
    screen.keep(tab, tmp_path, "page-cases")
    number = rows.first.get_by_role("button").inner_text()
    rows.first.get_by_role("button").click()
    settled(tab)
    assert tab.locator(".chooser h2").inner_text() == f"Case {number}"


def test_a_typed_case_is_decided_while_typing(tab: Any) -> None:
    button(tab, "All cases").click()
    button(tab, "Type a new case").click()
    tab.wait_for_selector(".chooser h2:has-text('A new case')")
    settled(tab)
    before = tab.locator(".verdict .score").inner_text()
    field = tab.locator("input.typed[aria-label='Duration in month']")
    field.fill("60")
    tab.wait_for_function(
        f"() => document.querySelector('.verdict .score').innerText !== {json.dumps(before)}"
    )
    field.fill("sixty")
    assert field.get_attribute("aria-invalid") == "true"
    settled(tab)
    assert state(tab)["edits"] == {"duration_in_month": 60}


# ---------------------------------------------------------------- 2: what may change


def test_a_lock_holds_and_answers_follow_without_a_button(tab: Any) -> None:
    first = next(iter(changed(tab)[0]))
    label = first[0].upper() + first[1:].replace("_", " ")
    button(tab, f"Keep {label} as it is").click()
    settled(tab)
    assert cards(tab)
    assert all(first not in names for names in changed(tab))


def test_ranges_directions_and_costs_hold(tab: Any, tmp_path: Path) -> None:
    section = tab.get_by_label("Credit amount", exact=True).first
    section.get_by_role("button", name="What may change").click()
    section.get_by_label("Credit amount at least").fill("5000")
    section.get_by_label("Credit amount at most").fill("7000")
    section.get_by_label("Credit amount at most").press("Tab")
    settled(tab)
    values = [card["values"]["credit_amount"] for card in cards(tab)]
    assert all(5000 <= value <= 7000 for value in values)
    section.get_by_label("may only rise").check()
    section.get_by_label("hard").check()
    settled(tab)
    assert state(tab)["limits"]["credit_amount"] == {"range": [5000, 7000], "way": "up", "cost": "hard"}
    assert all(card["values"]["credit_amount"] >= 5848 for card in cards(tab))
    assert all("cost" in card for card in cards(tab))
    assert "Cost" in tab.locator(".card .facts").first.inner_text()
    screen.keep(tab, tmp_path, "page-limits")
    section = tab.get_by_label("Savings", exact=True).first
    section.get_by_role("button", name="What may change").click()
    section.get_by_role("checkbox", name="unknown or none").uncheck()
    settled(tab)
    assert all(card["values"]["savings"] != "unknown or none" for card in cards(tab))
    section.get_by_label("never", exact=True).check()
    settled(tab)
    assert all("savings" not in names for names in changed(tab))


def test_a_range_that_cannot_be_is_said_in_plain_words(tab: Any) -> None:
    button(tab, "What may change: Credit amount").click()
    wrong = tab.get_by_text("Give numbers, the smaller one first.")
    low, high = tab.get_by_label("Credit amount at least"), tab.get_by_label("Credit amount at most")
    low.fill("5000")
    low.press("Tab")
    settled(tab)
    assert wrong.is_hidden()
    for text in ("1000", "much"):
        high.fill(text)
        high.press("Tab")
        assert wrong.is_visible()
        assert state(tab)["limits"]["credit_amount"]["range"] == [5000, None]
    high.fill("9000")
    high.press("Tab")
    settled(tab)
    assert wrong.is_hidden()
    assert state(tab)["limits"]["credit_amount"]["range"] == [5000, 9000]


# ---------------------------------------------------------------- 3: cards


def test_cards_tell_sentences_changes_and_how_good_they_are(tab: Any) -> None:
    card = tab.locator(".card").first
    assert card.locator(".sentence").inner_text().startswith("If ")
    tab.wait_for_function("() => document.querySelector('.card .scored').innerText.includes('%')")
    assert all(
        word in card.inner_text() for word in ("Distance", "Plausible", "Score of granted", "Take over")
    )


def test_saying_no_looks_further(tab: Any) -> None:
    said_no = cards(tab)[0]["action"]
    button(tab, "Not answer 1: look further").click()
    settled(tab)
    assert state(tab)["no"] == [said_no]
    assert all(not {tuple(p) for p in said_no} <= {tuple(p) for p in card["action"]} for card in cards(tab))
    tab.get_by_role("button", name="Allow again").click()
    settled(tab)
    assert said_no in [card["action"] for card in cards(tab)]


def test_answers_are_pinned_and_compared(tab: Any, tmp_path: Path) -> None:
    for number in (1, 2):
        button(tab, f"Pin answer {number} to compare").click()
    compared = tab.get_by_label("Pinned answers")
    assert compared.locator("thead th").all_inner_texts() == ["Case", "A", "B"]
    assert compared.locator("tbody tr").count() == len(set().union(*changed(tab)[:2]))
    screen.keep(tab, tmp_path, "page-compared")
    button(tab, "Unpin A").click()
    assert len(state(tab)["pins"]) == 1


# ---------------------------------------------------------------- 4: sliders and chips


def test_a_pin_that_is_pressed_by_keyboard_keeps_the_focus(tab: Any) -> None:
    button(tab, "Pin answer 1 to compare").focus()
    for pressed in ("true", "false"):
        tab.keyboard.press("Enter")
        held = tab.locator(":focus")
        assert held.get_attribute("aria-label") == "Pin answer 1 to compare"
        assert held.get_attribute("aria-pressed") == pressed


def test_what_did_not_change_is_not_drawn_again(tab: Any) -> None:
    """Drawing takes time that the answers then wait for, where the machine has few cores."""
    tab.evaluate("() => document.querySelectorAll('.chip, .card').forEach((node) => (node.old = true))")
    button(tab, "Pin answer 1 to compare").click()
    tab.wait_for_selector(".compare:visible")
    assert tab.evaluate("() => [...document.querySelectorAll('.chip, .card')].every((node) => node.old)")
    button(tab, "Keep Savings as it is").click()
    settled(tab)
    assert tab.evaluate("() => [...document.querySelectorAll('.chip')].some((node) => node.old)")
    assert not tab.evaluate("() => [...document.querySelectorAll('.card')].some((node) => node.old)")


def test_tracks_show_where_the_decision_flips(tab: Any, calls: Calls) -> None:
    flips = tab.evaluate("() => window.counterpoint.flips")
    bands = flips["duration_in_month"]["bands"]
    drawn = tab.get_by_label("Duration in month", exact=True).first.locator(".bands rect")
    assert [each.get_attribute("class") for each in drawn.all()] == [
        "wanted" if band["wanted"] else "same" for band in bands
    ]
    assert {band["wanted"] for band in bands} == {True, False}
    model = calls.session.fitted
    values = tab.evaluate("() => window.counterpoint.values")
    for band in bands:  # the model says so itself
        frame = calls.session.reader.rows([values | {"duration_in_month": band["first"]}]).frame
        decided = model.blackbox.predict(model.view.read(frame).instances.rows)[0]
        assert (decided != "refused") == band["wanted"]


def test_a_slider_moves_by_keyboard_and_chips_by_click(tab: Any) -> None:
    slider = tab.locator("input[type=range][aria-label='Duration in month']")
    slider.focus()
    for _ in range(8):
        slider.press("ArrowLeft")
    settled(tab)
    assert state(tab)["edits"] == {"duration_in_month": 28}
    assert tab.locator(".verdict strong").inner_text() == "granted"
    assert "Nothing has to change" in tab.locator(".answers").inner_text()
    chip = tab.get_by_label("Savings", exact=True).first.locator(".chip", has_text="1000 DM or more")
    chip.click()
    settled(tab)
    assert state(tab)["edits"]["savings"] == "1000 DM or more"
    button(tab, "Set Savings back to below 100 DM").click()
    settled(tab)
    assert "savings" not in state(tab)["edits"]


def test_chips_are_coloured_by_what_they_would_decide(tab: Any) -> None:
    flips = tab.evaluate("() => window.counterpoint.flips")
    wanted = {each["value"] for each in flips["savings"]["categories"] if each["wanted"]}
    chips = tab.get_by_label("Savings", exact=True).first.locator(".chip.wanted span")
    assert wanted
    assert set(chips.all_inner_texts()) == wanted


# ---------------------------------------------------------------- 5 and 6: take over, settings


def test_one_change_is_taken_over_and_the_rest_solved(tab: Any) -> None:
    tab.get_by_role("radio", name="Plausible").check()
    settled(tab)
    several = next(i for i, card in enumerate(cards(tab)) if len(card["changes"]) > 1)
    change = cards(tab)[several]["changes"][0]
    tab.locator(".card").nth(several).get_by_role("button", name="Take over").first.click()
    settled(tab)
    assert state(tab)["edits"] == {change["feature"]: change["to"]}
    assert state(tab)["limits"][change["feature"]] == {"lock": True}
    assert all(change["feature"] not in names for names in changed(tab))


def test_settings_are_a_switch(tab: Any, tmp_path: Path) -> None:
    seen = {}
    for name in ("Close", "Few changes", "Plausible", "Safe", "Diverse", "Balanced"):
        tab.get_by_role("radio", name=name).check()
        settled(tab)
        tab.wait_for_function("() => window.counterpoint.cards.every((card) => card.score)")
        seen[name] = cards(tab)
    assert state(tab)["setting"] is None  # balanced is how it was opened
    assert all(card["score"]["value"] >= 0.6 for card in seen["Safe"])
    assert min(card["score"]["value"] for card in seen["Close"]) < 0.6
    assert max(card["distance"] for card in seen["Diverse"]) > max(card["distance"] for card in seen["Close"])
    screen.keep(tab, tmp_path, "page-settings")


# ---------------------------------------------------------------- 7: the map


def test_the_map_tells_of_each_point(tab: Any, tmp_path: Path) -> None:
    drawing = tab.locator("svg.map")
    drawing.scroll_into_view_if_needed()
    assert drawing.locator(".known").count() > 100
    assert drawing.locator(".spot").count() == 6
    drawing.locator(".spot.answer circle").first.hover()
    assert tab.locator(".tip").inner_text().startswith("Answer ")
    drawing.locator(".known").nth(5).hover(force=True)
    assert tab.locator(".tip").is_visible()
    screen.keep(tab, tmp_path, "page-map")


# ---------------------------------------------------------------- 8: why nothing


def test_why_nothing_is_answered_and_released_by_a_click(browser: Any, address: str, tmp_path: Path) -> None:
    with screen.tab_of(browser) as tab:
        visit(tab, address)
        names = tab.evaluate("() => window.counterpoint.columns.map((column) => column.name)")
        visit(tab, address, row=REFUSED, limits={name: {"lock": True} for name in names})
        tab.reload()  # the same address alone is no new page
        settled(tab)
        assert cards(tab) == []
        button(tab, "Why nothing?").click()
        tab.wait_for_selector(".ways li", timeout=60_000)
        assert "may not change" in tab.locator(".ways li").first.inner_text()
        screen.keep(tab, tmp_path, "page-why")
        tab.locator(".ways li").first.get_by_role("button").click()
        tab.wait_for_selector(".card")
        settled(tab)
        assert cards(tab)


# ---------------------------------------------------------------- 9: groups


def test_groups_have_progress_and_can_be_cancelled(tab: Any, tmp_path: Path) -> None:
    button(tab, "All cases").click()
    tab.get_by_label("Search cases").fill("used car")
    tab.wait_for_function("() => [...document.querySelectorAll('.cases tbody tr')].length < 45")
    button(tab, "Groups").click()
    tab.get_by_label("Compare groups by").select_option("personal_status_sex")
    button(tab, "Explain them").click()
    tab.wait_for_selector(".grouped .bars tr")
    button(tab, "Cancel").click()
    tab.wait_for_selector("text=Cancelled after")
    button(tab, "Explain them").click()
    tab.wait_for_function(
        "() => { const said = document.querySelector('section[aria-label=Groups] [role=status]').innerText;"
        " const [done, total] = said.match(/\\d+/g) ?? []; return total && done === total; }",
        timeout=60_000,
    )
    assert tab.locator(".grouped h3").all_inner_texts() == [
        "What flips decisions",
        "Distance to another decision, by personal status sex",
    ]
    screen.keep(tab, tmp_path, "page-groups", full_page=True)


def test_figures_of_groups_say_when_they_are_old(tab: Any) -> None:
    old = tab.get_by_text("These figures are from before your last change.")
    button(tab, "All cases").click()
    tab.get_by_label("Search cases").fill("used car")
    button(tab, "Groups").click()
    button(tab, "Explain them").click()
    tab.wait_for_selector(".grouped .bars tr")
    button(tab, "Cancel").click()
    tab.wait_for_selector("text=Cancelled after")
    assert old.is_hidden()
    tab.get_by_label("Compare groups by").select_option("housing")
    assert old.is_visible()
    button(tab, "Undo").click()
    old.wait_for(state="hidden")


# ---------------------------------------------------------------- 10: undo, address, copies, report


def test_undo_redo_and_the_address_hold_the_state(tab: Any, browser: Any, address: str) -> None:
    before = [card["sentence"] for card in cards(tab)]
    assert button(tab, "Undo").is_disabled()
    tab.get_by_role("radio", name="Close").check()
    settled(tab)
    button(tab, "Keep Savings as it is").click()
    settled(tab)
    after = [card["sentence"] for card in cards(tab)]
    with screen.tab_of(browser) as other:  # somebody else opens the same address
        other.goto(tab.url)
        settled(other)
        assert [card["sentence"] for card in cards(other)] == after
    tab.keyboard.press("Control+z")
    tab.wait_for_function("() => !window.counterpoint.state.limits.savings")
    button(tab, "Undo").click()
    tab.wait_for_function("() => window.counterpoint.state.setting === null")
    settled(tab)
    assert [card["sentence"] for card in cards(tab)] == before
    button(tab, "Redo").click()
    button(tab, "Redo").click()
    tab.wait_for_function("() => window.counterpoint.state.limits.savings")
    settled(tab)
    assert [card["sentence"] for card in cards(tab)] == after


def test_what_is_typed_after_going_back_can_be_undone(tab: Any) -> None:
    button(tab, "All cases").click()
    search = tab.get_by_label("Search cases")
    search.press_sequentially("used")
    tab.go_back()
    tab.wait_for_function("() => !window.counterpoint.state.list.search")
    search.press_sequentially("new")
    assert "new" in state(tab)["list"]["search"]
    button(tab, "Undo").click()
    tab.wait_for_function("() => !window.counterpoint.state.list.search")
    assert state(tab)["view"] == "cases"


def test_copies_say_the_same_in_python_and_in_a_file(tab: Any, calls: Calls) -> None:
    tab.get_by_role("radio", name="Close").check()
    settled(tab)
    button(tab, "Keep Savings as it is").click()
    settled(tab)
    copied = {}
    for name in ("Copy as Python", "Copy as a command", "Copy as a constraints file"):
        tab.locator(".menu summary").click()
        button(tab, name).click()
        tab.wait_for_selector(".copied:has-text('Copied')")
        copied[name] = tab.evaluate("() => navigator.clipboard.readText()")
    scope: dict[str, Any] = {"explainer": calls.session.explainer, "print": lambda _: None}
    exec(copied["Copy as Python"], scope)
    assert scope["explanation"].sentences() == [card["sentence"] for card in cards(tab)]
    assert tomllib.loads(copied["Copy as a constraints file"])["columns"]["savings"] == {"immutable": True}
    assert "counterpoint explain --model" in copied["Copy as a command"]


def test_the_report_is_saved(tab: Any, tmp_path: Path) -> None:
    tab.locator(".menu summary").click()
    with tab.expect_download() as saving:
        button(tab, "Save as a report").click()
    path = tmp_path / "report.html"
    saving.value.save_as(path)
    assert saving.value.suggested_filename == "case-5.html"
    assert path.read_text("utf-8").startswith("<!doctype html>")


# ---------------------------------------------------------------- 11: for everybody


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing(browser: Any, address: str, scheme: str, tmp_path: Path) -> None:
    with screen.tab_of(browser, color_scheme=scheme) as tab:
        visit(tab, address)
        for opener in tab.locator(".opener").all()[:6]:
            opener.click()
        for view in ("One case", "All cases", "Groups") if scheme == "light" else ("One case",):
            button(tab, view).click()
            tab.wait_for_timeout(300)
            assert screen.violations(tab) == []
            screen.keep(tab, tmp_path, f"page-{view.replace(' ', '-').lower()}-{scheme}")


def test_names_pins_and_boxes_stay_in_line(tab: Any) -> None:
    tab.get_by_role("button", name="Take over").first.click()
    settled(tab)
    name = tab.locator(".feature.edited .name").first
    assert name.bounding_box()["height"] < 30  # nothing falls to a line of its own
    button(tab, "Undo").click()
    settled(tab)
    for number in (1, 2):
        button(tab, f"Pin answer {number} to compare").click()
    middles = tab.locator(".compare thead th").evaluate_all(
        "heads => heads.map((head) => { const range = document.createRange();"
        " range.selectNodeContents(head.firstChild); const box = range.getBoundingClientRect();"
        " return (box.top + box.bottom) / 2; })"
    )
    assert max(middles) - min(middles) < 3
    button(tab, "What may change: Savings").click()
    lefts = tab.locator(".feature:has(.boxes) .allowed label").evaluate_all(
        "labels => labels.map((label) => label.getBoundingClientRect().left)"
    )
    legend = tab.locator(".allowed legend").bounding_box()
    assert min(lefts) > legend["x"] + legend["width"]


def test_a_narrow_window_shows_all_without_running_over(browser: Any, address: str, tmp_path: Path) -> None:
    with screen.tab_of(browser, viewport={"width": 360, "height": 740}) as tab:
        for view in ("case", "cases", "groups"):
            visit(tab, address, view=view, row=REFUSED)
            tab.reload()
            settled(tab)
            assert tab.evaluate("() => document.documentElement.scrollWidth") <= 360
        screen.keep(tab, tmp_path, "page-narrow")
        assert screen.violations(tab) == []


def test_all_can_be_reached_by_keyboard(tab: Any) -> None:
    reached = set()
    tab.locator("body").press("Tab")
    for _ in range(140):
        reached.add(tab.evaluate("() => document.activeElement.getAttribute('aria-label') ?? ''"))
        tab.keyboard.press("Tab")
    assert {"Undo", "Next case", "Savings", "Keep Savings as it is"} - reached <= {"Undo", "Savings"}
    assert any(name.startswith("Pin answer") for name in reached)
    assert any(name.startswith("Not answer") for name in reached)


# ---------------------------------------------------------------- what goes wrong


def test_without_its_token_it_says_so(browser: Any, address: str) -> None:
    with screen.tab_of(browser, fine=("401",)) as tab:
        tab.goto(address.partition("?")[0])
        assert "lacks its token" in tab.get_by_role("alert").inner_text()


def test_a_question_that_is_too_large_or_wrong_is_a_sentence(browser: Any, address: str) -> None:
    with screen.tab_of(browser, fine=("413", "422")) as tab:
        visit(tab, address)
        for values, words in (
            ("{ age: 'x'.repeat(3e6) }", "at most 2,000,000 bytes"),
            ("{ height: 3 }", "height"),
        ):
            tab.evaluate(f"() => window.counterpoint.ask('answers', {{ question: {{ values: {values} }} }})")
            assert words in tab.locator(".problem:visible").inner_text()


def test_a_server_that_is_gone_is_a_sentence(browser: Any) -> None:
    known = cp.datasets.load("german").X_train[["age", "credit_amount"]]
    page = cp.Ensemble(size=3).fit(lambda X: X["age"].to_numpy() > 40, known).open(browser=False)
    with screen.tab_of(browser, fine=("ERR_CONNECTION_REFUSED",)) as tab:
        tab.goto(page.address)
        settled(tab)
        page.close()
        button(tab, "Keep Age as it is").click()
        tab.wait_for_selector(".problem:visible")
        assert "lost its server" in tab.locator(".problem:visible").inner_text()


def test_a_model_that_fails_is_a_sentence_on_the_page(browser: Any, calls: Calls) -> None:
    down = False

    def model(table: Any) -> Any:
        if down:
            raise OSError("the model's machine is gone")
        return table["age"].to_numpy() > 40

    known = cp.datasets.load("german").X_train[["age", "credit_amount"]]
    explainer = cp.Ensemble(size=3).fit(model, known)
    page = explainer.open(browser=False)
    with page, screen.tab_of(browser, fine=("502",)) as tab:
        tab.goto(page.address)
        settled(tab)
        down = True
        button(tab, "Keep Credit amount as it is").click()
        tab.wait_for_selector(".problem:visible")
        assert "The model failed" in tab.locator(".problem:visible").inner_text()
        assert "machine is gone" in tab.locator(".problem:visible").inner_text()
        down = False
        button(tab, "Keep Credit amount as it is").click()
        settled(tab)
        assert tab.locator(".problem:visible").count() == 0


def test_a_newer_question_takes_the_place_of_the_older(tab: Any, calls: Calls) -> None:
    names = ["Close", "Few changes", "Plausible", "Diverse", "Close"]
    for name in names:
        tab.get_by_role("radio", name=name).check()  # without waiting for its answers
    settled(tab)
    last = [card["sentence"] for card in cards(tab)]
    found = calls.call("answers", {"question": tab.evaluate("() => window.counterpoint.question()")})
    assert [card["sentence"] for card in found["answers"]] == last
