"""The answer for people: words, cards and plots."""
