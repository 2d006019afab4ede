"""`pdfocr view` in a real browser: what people see, what they can do, and what hostile text and names cannot."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from tests.integration.viewer.conftest import Made, Watched, is_harmless, picture_is_drawn, places
from tests.viewer_workspace import NAME


def names(page: Page) -> list[str]:
    return page.locator("#list .name").all_inner_texts()


def test_the_overview_says_what_happened(made: Made, watched: Watched) -> None:
    page = watched.open(made.address)
    expect(page.get_by_role("heading", name="6 of 7 documents are read so far.")).to_be_visible()
    expect(page.locator("#list a")).to_have_count(7)
    chips = [re.compile(words) for words in ("ok 4", "partial 1", "failed 1", "pending 1")]
    expect(page.locator(".chip")).to_have_text(chips)
    page.locator(".card").get_by_role("link", name="truncated").click()
    expect(page.locator("#found")).to_have_text("1 document found")
    expect(page.locator("#list .name")).to_have_text(["broken.pdf"])


def test_search_and_filters_narrow_the_list(made: Made, watched: Watched) -> None:
    page = watched.open(made.address)
    expect(page.locator("#list a")).to_have_count(7)
    page.keyboard.press("/")
    page.keyboard.type("BRIEF")
    expect(page.locator("#list .name")).to_have_text(["Brief.pdf"])
    page.get_by_role("button", name="Clear filters").click()
    expect(page.locator("#list a")).to_have_count(7)
    for label, value, expected in (
        ("Reason", "repetition", ["Brief.pdf"]),
        ("Language", "de", ["Brief.pdf"]),
        ("Method", "blank", ["waves.pdf"]),
    ):
        page.get_by_label(label).select_option(value)
        expect(page.locator("#list .name")).to_have_text(expected)
        page.get_by_role("button", name="Clear filters").click()
    page.get_by_label("Low confidence only").check()
    expect(page.locator("#list .name")).to_have_text(["Brief.pdf"])
    page.get_by_role("button", name="Clear filters").click()
    page.get_by_role("button", name="failed").click()
    expect(page.locator("#list .name")).to_have_text(["broken.pdf"])
    page.reload()
    expect(page.locator("#list .name")).to_have_text(["broken.pdf"])
    page.get_by_role("button", name="Clear filters").click()
    page.get_by_label("Order").select_option("worst")
    expect(page.locator("#list .name").first).to_have_text("broken.pdf")


def test_the_keyboard_goes_everywhere(made: Made, watched: Watched) -> None:
    page = watched.open(made.address)
    expect(page.locator("#list a")).to_have_count(7)
    page.keyboard.press("ArrowDown")
    expect(page.locator(".document h1")).to_have_text("waves.pdf")
    page.keyboard.press("ArrowRight")
    expect(page.locator(".prose")).to_have_text("The second page.")
    assert page.url.endswith("/2")
    page.keyboard.press("r")
    expect(page.locator("#reading pre")).to_have_text("The *second* page.")
    page.keyboard.press("r")
    page.keyboard.press("ArrowLeft")
    expect(page.locator(".prose h1")).to_have_text("Waves")
    page.keyboard.press("b")
    expect(page.locator(".box").first).to_be_hidden()
    page.keyboard.press("b")
    expect(page.locator(".box").first).to_be_visible()
    for name in (NAME, "gone.pdf", "broken.pdf", "inner.pdf", "Brief.pdf", "waiting.pdf"):
        page.keyboard.press("ArrowDown")
        expect(page.locator(".document h1")).to_have_text(name)
    page.keyboard.press("ArrowUp")
    expect(page.locator(".document h1")).to_have_text("Brief.pdf")
    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_be_visible()
    page.keyboard.press("Escape")
    page.keyboard.press("t")
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"
    page.reload()
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"
    page.go_back()
    expect(page.locator(".document h1")).to_have_text("waiting.pdf")


def test_a_page_shows_mathematics_tables_figures_and_boxes(made: Made, watched: Watched) -> None:
    page = watched.open(made.to("waves"))
    picture_is_drawn(page)
    # Two inline, one block, one environment, one in each kind of table.
    expect(page.locator(".prose .katex")).to_have_count(6)
    expect(page.locator(".prose .katex-display")).to_have_count(2)
    expect(page.locator(".tex-error")).to_have_text(["\\frac{1"])
    expect(page.locator(".prose")).to_contain_text("money $5 and $6, broken")
    expect(page.locator(".prose td[rowspan='2']")).to_have_text("Low")
    expect(page.locator(".prose table")).to_have_count(2)
    crop = page.locator(".figure .crop img")
    page.wait_for_function("() => document.querySelector('.crop').clientHeight > 50")
    assert crop.get_attribute("alt") == "The level at the mill"
    expect(page.locator(".box")).to_have_count(2)
    frame, box = places(page, ".sheet", ".box")
    assert box["x"] - frame["x"] == pytest.approx(0.08 * frame["width"], abs=2)
    assert box["height"] == pytest.approx(0.1 * frame["height"], abs=2)
    page.get_by_role("button", name="Record").click()
    expect(page.locator("#reading pre")).to_contain_text('"engine_id": "0123456789abcdef"')


def test_attempts_and_failures_are_told(made: Made, watched: Watched) -> None:
    page = watched.open(made.to("letter"))
    page.get_by_role("button", name="Attempts (3)").click()
    expect(page.locator("#reading tbody tr")).to_have_count(3)
    expect(page.locator("#reading tbody tr").first).to_contain_text("repetition")
    expect(page.locator("#reading")).to_contain_text("“and and and”")
    expect(page.locator(".strip li a")).to_have_class(["is-ok", "is-fallback", "is-failed"])
    page.goto(made.to("broken"))
    expect(page.locator(".notice")).to_contain_text("The end of the file is missing. Download it again.")
    page.goto(made.to("waiting"))
    page.get_by_role("button", name="Text", exact=True).click()
    expect(page.locator("#reading")).to_contain_text("The first page is read.")


def test_pictures_come_from_archives_and_say_when_the_source_is_gone(made: Made, watched: Watched) -> None:
    page = watched.open(made.to("member"))
    picture_is_drawn(page)
    page.goto(made.to("gone"))
    expect(page.locator(".sheet")).to_contain_text("is not there")
    expect(page.locator(".sheet")).to_contain_text("Restore it")
    expect(page.locator(".prose")).to_have_text("Its file is gone.")


def test_hostile_text_and_names_do_nothing(made: Made, watched: Watched) -> None:
    page = watched.open(made.to("hostile"))
    is_harmless(watched, made.address)
    expect(page.locator("#list a")).to_have_count(7)
    assert NAME in names(page)
    assert page.evaluate("document.getElementById('list').localName") == "ol"


def test_the_page_can_be_used_without_a_mouse_or_eyes(made: Made, watched: Watched) -> None:
    page = watched.open(made.to("waves"))
    picture_is_drawn(page)
    unnamed = page.evaluate(
        "() => [...document.querySelectorAll('a[href], button, input, select, img, [role=img], [tabindex=\"0\"]')].filter("
        "one => one.checkVisibility() && !(one.getAttribute('aria-label') || one.getAttribute('aria-labelledby') ||"
        " one.innerText || one.alt || (one.labels && one.labels.length))).map(one => one.outerHTML.slice(0, 120))"
    )
    assert unnamed == []
    page.get_by_role("link", name="Skip to the document").focus()
    page.keyboard.press("Enter")
    page.wait_for_function("document.activeElement.id === 'main'")
    for theme in ("light", "dark"):
        page.evaluate("theme => { document.documentElement.dataset.theme = theme }", theme)
        assert page.evaluate(CONTRAST) == []


# Text whose colour stands out from what is behind it by less than WCAG's 4.5 to 1.
CONTRAST = """() => {
  const parse = text => text.match(/[\\d.]+/g).map(Number);
  const light = ([r, g, b]) => [r, g, b].map(v => v / 255).map(v => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
    .reduce((sum, v, at) => sum + v * [0.2126, 0.7152, 0.0722][at], 0);
  const ground = one => {
    for (let at = one; at; at = at.parentElement) {
      const colour = parse(getComputedStyle(at).backgroundColor);
      if (colour.length === 3 || colour[3] === 1) return colour;
    }
    return [255, 255, 255];
  };
  return [...document.querySelectorAll('body *')].filter(one => one.checkVisibility()
      && !one.closest('[aria-disabled], :disabled, .boxes, .katex')
      && [...one.childNodes].some(node => node.nodeType === 3 && node.textContent.trim()))
    .map(one => {
      const [a, b] = [light(parse(getComputedStyle(one).color)), light(ground(one))].sort((x, y) => y - x);
      return [(a + 0.05) / (b + 0.05), one.outerHTML.slice(0, 80)];
    }).filter(([ratio]) => ratio < 4.5);
}"""
