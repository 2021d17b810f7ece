"""Programs on an index: batches of topics, and explanations."""

from sira.search.batch import Searched, search_programs
from sira.search.explain import Explanation, explain

__all__ = ["Explanation", "Searched", "explain", "search_programs"]
