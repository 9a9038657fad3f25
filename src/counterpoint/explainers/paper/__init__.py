"""The paper's method to the letter: Algorithm 1 and its base explainers; see `Ensemble.paper`."""

from counterpoint.data.search_distance import Judge, Mixed
from counterpoint.explainers.paper.brute_force import PaperBruteForce
from counterpoint.explainers.paper.ensemble import PaperEnsemble
from counterpoint.explainers.paper.sphere import PaperSphere
from counterpoint.explainers.paper.tree import PaperTree

__all__ = ["Judge", "Mixed", "PaperBruteForce", "PaperEnsemble", "PaperSphere", "PaperTree"]
