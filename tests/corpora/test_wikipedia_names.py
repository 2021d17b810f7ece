"""Names of pages, by title and by address."""

from __future__ import annotations

import unicodedata

import pytest

from sira.corpora.wikipedia.names import page_name, page_of_url

EN = "en.wikipedia.org"


@pytest.mark.parametrize(
    ("title", "name"),
    [
        ("Ada Lovelace", "Ada_Lovelace"),
        ("  ada\u00a0 lovelace_#Life", "Ada_lovelace"),
        ("iPhone", "IPhone"),
        ("ßeta", "ßeta"),
        ("R&amp;B", "R&B"),
        ("AT&T", "AT&T"),
        ("Love&copy", "Love&copy"),
        ("100%25 Proof", "100%25_Proof"),
        ("Who?", "Who?"),
        (":Category:Kilns", "Category:Kilns"),
        ("\u200eשלום\u200f", "שלום"),
        (unicodedata.normalize("NFD", "Žižek"), "Žižek"),
        ("_", ""),
        ("", ""),
    ],
)
def test_a_title_has_one_name(title: str, name: str) -> None:
    assert page_name(title) == name


@pytest.mark.parametrize(
    ("url", "found"),
    [
        ("https://en.wikipedia.org/wiki/Ada_Lovelace", (EN, "Ada_Lovelace")),
        ("https://en.wikipedia.org/wiki/Mercury_%28planet%29", (EN, "Mercury_(planet)")),
        ("http://en.m.wikipedia.org/wiki/ada%20lovelace?action=raw#Life", (EN, "Ada_lovelace")),
        ("//en.wikipedia.org/wiki/AC/DC", (EN, "AC/DC")),
        ("en.wikipedia.org/wiki/C%2B%2B", (EN, "C++")),
        ("https://en.wikipedia.org/wiki/What%3F", (EN, "What?")),
        ("https://en.wikipedia.org/wiki/What?", (EN, "What")),
        ("https://en.wikipedia.org/wiki/Foo%2528bar%2529", (EN, "Foo(bar)")),
        ("https://en.wikipedia.org/wiki/%D7%A9%D7%9C%D7%95%D7%9D", (EN, "שלום")),
        ("https://en.wikipedia.org/wiki/Caf%E9", (EN, "Caf%E9")),
        ("https://en.wikipedia.org/w/index.php?title=Foo+bar&oldid=3", (EN, "Foo_bar")),
        ("https://en.wikipedia.org/wiki/index.php?title=Foo", (EN, "Foo")),
        ("https://EN.wikipedia.org:443/wiki/Foo", (EN, "Foo")),
        ("https://www.wikipedia.org/wiki/Foo", ("wikipedia.org", "Foo")),
        ("https://zh.wikipedia.org/zh-cn/%E4%B8%AD", ("zh.wikipedia.org", "中")),
        ("https://web.archive.org/web/2020/https://en.wikipedia.org/wiki/Foo", (EN, "Foo")),
        ("  https://en.wikipedia.org/wiki/R%26B \n", (EN, "R&B")),
        ("https://en.wikipedia.org/wiki/", None),
        ("https://en.wikipedia.org/wiki?curid=3", None),
        ("https://example.org/page", None),
        ("http://[bad", None),
        ("", None),
    ],
)
def test_an_address_leads_to_a_site_and_a_name(url: str, found: tuple[str, str] | None) -> None:
    assert page_of_url(url) == found
