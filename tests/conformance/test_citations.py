"""Pi-Serini's conformance case 47: which docids a final text cites."""

from __future__ import annotations

from sira.agent.citations import Citations, check_citations, cited_docids
from sira.agent.ledger import Ledger


def test_47_digits_in_brackets() -> None:
    assert cited_docids("[12, 34] 【56】 [x]") == ("12", "34", "56")
    assert cited_docids("[12] and again [12]; none in (13) or 14") == ("12",)


def test_47_ours_takes_registered_docids_of_any_form() -> None:
    registered = {"12", "34", "56", "x", "not cited"}
    assert cited_docids("[12, 34] 【56】 [x]", registered) == ("12", "34", "56", "x")


def test_a_year_is_no_citation_where_docids_are_registered() -> None:
    assert cited_docids("Fired in [2019] as noted in [d-77, Fig 3].", {"d-77"}) == ("d-77",)


def test_docids_as_models_write_them() -> None:
    registered = {"a b", "a,b", "q[1]", "doc/42", "http://x.org/y", "Ünï"}
    text = "[docid=doc/42] [docid: a b] [a,b] [q[1]] 【http://x.org/y†L1-L9】 ['Ünï'; doc 7]"
    assert cited_docids(text, registered) == ("doc/42", "a b", "a,b", "q[1]", "http://x.org/y", "Ünï")
    assert cited_docids("[doc-77 and d2]", {"d2", "doc-77"}) == ("doc-77", "d2")


def test_what_was_cited_is_checked_against_what_was_looked_at() -> None:
    ledger = Ledger()
    ledger.surface(["1", "2", "3"])
    ledger.see("s1", [(1, "1"), (2, "2")])
    ledger.open("1", 1, 20)
    found = check_citations("So [1]. But [2], [3] and [4], not [see below].", ledger)
    assert found == Citations(("1", "2", "3", "4"), ("1",), ("2",), ("3",), ("4",))
    assert found.to_json()["unknown"] == ["4"]
    assert check_citations("nothing", ledger) == Citations()


def test_a_long_text_of_brackets_takes_no_time() -> None:
    assert cited_docids("[" * 200_000 + "7" + "]" * 200_000) == ("7",)
