"""The results for people: a page with figures, tables and galleries."""
