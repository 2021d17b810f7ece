"""(Topic, Sketch, Statistics) -> Program. Pure functions: they read statistics, and open nothing."""

from sira.compile.compiler import compile_sketch
from sira.compile.facets import FacetValidator
from sira.compile.safety import Safety
from sira.compile.settings import CompileSettings
from sira.compile.statistics import Statistics, TableStatistics

__all__ = ["CompileSettings", "FacetValidator", "Safety", "Statistics", "TableStatistics", "compile_sketch"]
