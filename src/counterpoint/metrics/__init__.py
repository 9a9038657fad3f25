"""The paper's measures, and the evaluation of explainers by them."""
