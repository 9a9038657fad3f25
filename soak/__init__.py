"""Long tests that look for what no other test thought of: ``make soak``.

Each kind of trial draws its cases from numbers, so a case can be run again by its kind and number. Nothing
here is shared with ``tests/promises``: the tables, models and constraints are drawn in other ways, and what
an answer must be is judged from the values that a user sees.
"""
