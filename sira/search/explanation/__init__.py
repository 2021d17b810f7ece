"""Why a search ranks as it does: one document (`explain`), or a whole search (`explain_search`)."""

from sira.search.explanation.document import Explanation, explain, plain
from sira.search.explanation.values import SearchExplanation
from sira.search.explanation.whole import explain_search

__all__ = ["Explanation", "SearchExplanation", "explain", "explain_search", "plain"]
