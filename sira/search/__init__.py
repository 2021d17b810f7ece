"""Programs on an index: batches of topics, and explanations."""

from sira.search.batch import Searched, search_programs
from sira.search.explanation import Explanation, SearchExplanation, explain, explain_search

__all__ = ["Explanation", "SearchExplanation", "Searched", "explain", "explain_search", "search_programs"]
