"""What the results say: ranks, our claims, and the statements of the paper."""
