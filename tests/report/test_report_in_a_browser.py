"""The page in a real browser: everything is drawn, nothing is asked of the network, and it fits."""

from __future__ import annotations

import pytest
from browser import open_browser, requests, show

SIZES = [(1280, "light"), (1280, "dark"), (390, "light"), (390, "dark")]


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    with open_browser(tmp_path_factory.mktemp("profile")) as browser:
        requests(browser)
        browser.get_log("browser")
        yield browser


def on_page(browser, script):
    return browser.execute_script(f"return {script}")


@pytest.mark.parametrize(("width", "scheme"), SIZES)
def test_every_chart_is_drawn_without_a_word_of_complaint(browser, page, width, scheme):
    show(browser, page, width=width, scheme=scheme)
    places = on_page(browser, "document.querySelectorAll('.chart').length")
    assert places == 9 + 12
    assert on_page(browser, "document.querySelectorAll('.chart svg').length") == places
    heights = on_page(
        browser, "[...document.querySelectorAll('.chart svg')].map(s => s.getBoundingClientRect().height)"
    )
    assert min(heights) > 60
    marks = "[...document.querySelectorAll('.chart svg')].map(s => s.querySelectorAll('.role-mark path').length)"
    assert min(on_page(browser, marks)) > 1
    assert browser.get_log("browser") == []


def test_no_request_leaves_the_page(browser, page):
    requests(browser)
    show(browser, page)
    asked = {address for address in requests(browser) if not address.startswith(("data:", "chrome:"))}
    assert asked == {page.as_uri()}


@pytest.mark.parametrize(("width", "scheme"), SIZES)
def test_no_word_sticks_out_of_its_chart_and_no_chart_of_the_page(browser, page, width, scheme):
    show(browser, page, width=width, scheme=scheme)
    assert on_page(browser, "document.documentElement.scrollWidth") <= width
    outside = """[...document.querySelectorAll('.chart')].filter(c => {
        const place = c.getBoundingClientRect();
        return [...c.querySelectorAll('svg text')].some(t => {
            const text = t.getBoundingClientRect();
            return text.width && (text.left < place.left - 1 || text.right > place.right + 1
                || text.top < place.top - 2 || text.bottom > place.bottom + 2);
        });
    }).map(c => c.id)"""
    assert on_page(browser, outside) == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_words_in_charts_follow_the_scheme_of_the_page(browser, page, scheme):
    show(browser, page, scheme=scheme)
    colours = "[...document.querySelectorAll('.role-axis-label text')].map(t => getComputedStyle(t).fill)"
    (colour,) = set(on_page(browser, colours))
    assert colour == {"light": "rgb(86, 93, 102)", "dark": "rgb(169, 177, 187)"}[scheme]


def test_print_is_black_on_white_with_all_tables_open(browser, page):
    show(browser, page, scheme="dark", medium="print")
    assert on_page(browser, "getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    on_page(browser, "dispatchEvent(new Event('beforeprint'))")
    assert on_page(browser, "document.querySelectorAll('details:not([open])').length") == 0
    on_page(browser, "dispatchEvent(new Event('afterprint'))")
    assert on_page(browser, "document.querySelectorAll('details[open]').length") == 0
    printed = browser.execute_cdp_cmd("Page.printToPDF", {})
    assert len(printed["data"]) > 20_000


def test_tables_open_when_asked(browser, page):
    show(browser, page)
    browser.find_element("css selector", "figure summary").click()
    assert on_page(browser, "document.querySelector('figure details table').getBoundingClientRect().height") > 40
