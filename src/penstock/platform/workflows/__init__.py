"""Workflows as records: their definitions and versions, who may touch them, what they start, whether they run."""
