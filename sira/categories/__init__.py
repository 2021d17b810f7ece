"""The category graph of a Wikipedia: built from dump files, then asked for parents, children, members, levels."""

from sira.categories.graph import Category, CategoryGraph
from sira.categories.names import NameForm, normalize
from sira.categories.validator import CategoryValidator, FacetValidator

__all__ = ["Category", "CategoryGraph", "CategoryValidator", "FacetValidator", "NameForm", "normalize"]
