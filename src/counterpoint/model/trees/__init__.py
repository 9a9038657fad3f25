"""What is inside models made of decision trees: their thresholds, in the features of our rows."""

from counterpoint.model.trees.structure import Structure, read_structure
from counterpoint.model.trees.trees import Trees, UnreadableError

__all__ = ["Structure", "Trees", "UnreadableError", "read_structure"]
