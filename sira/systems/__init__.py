"""The systems that can be compared, one explicit table. A system turns a topic into a program on an index."""

from sira.systems.table import KINDS, System, SystemOptions, make_system

__all__ = ["KINDS", "System", "SystemOptions", "make_system"]
