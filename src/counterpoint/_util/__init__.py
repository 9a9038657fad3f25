"""Small helpers that are independent of counterfactuals."""
