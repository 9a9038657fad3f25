"""The base explainers f_k, one file each. Each is a k-counterfactual explainer of its own."""

from counterpoint.explainers.base import Explainer
from counterpoint.explainers.brute_force import BruteForce
from counterpoint.explainers.case_based import CaseBased
from counterpoint.explainers.evolution import Evolution
from counterpoint.explainers.guided import Guided
from counterpoint.explainers.neighbours import Neighbours
from counterpoint.explainers.sphere import Sphere
from counterpoint.explainers.tree import Tree

__all__ = ["BruteForce", "CaseBased", "Evolution", "Explainer", "Guided", "Neighbours", "Sphere", "Tree"]
