"""The category graph of a Wikipedia: built from dump files, then asked for parents, children, members, levels."""

from sira.categories.graph import Category, CategoryGraph
from sira.categories.validator import CategoryValidator
from sira.corpora.wikipedia.names import NameForm, normalize

__all__ = ["Category", "CategoryGraph", "CategoryValidator", "NameForm", "normalize"]
