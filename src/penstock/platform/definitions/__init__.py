"""Definitions before they are anybody's workflow: what is wrong with one, what it would do, and some to begin with."""
