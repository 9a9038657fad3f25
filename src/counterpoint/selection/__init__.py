"""Which k of the counterfactuals found are chosen."""
