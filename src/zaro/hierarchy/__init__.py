"""What users hold: arrays and groups, and the four functions that open, list, describe and read them."""

from zaro.hierarchy.nodes import Array, Group
from zaro.hierarchy.open import list_nodes, metadata_of, open_node, read_node

__all__ = ["Array", "Group", "list_nodes", "metadata_of", "open_node", "read_node"]
