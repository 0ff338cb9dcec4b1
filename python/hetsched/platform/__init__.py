"""The machine: node classes, the platform they make up, and tables of how its nodes differ."""

from hetsched.platform.node_class import NodeClass
from hetsched.platform.platform import Platform
from hetsched.platform.variation import VariationTable

__all__ = ["NodeClass", "Platform", "VariationTable"]
