"""(Topic, Sketch, Statistics) -> Program. Pure functions: they read statistics, and open nothing."""

from sira.compile.compiler import CompileSettings, compile_sketch
from sira.compile.statistics import Statistics, TableStatistics

__all__ = ["CompileSettings", "Statistics", "TableStatistics", "compile_sketch"]
