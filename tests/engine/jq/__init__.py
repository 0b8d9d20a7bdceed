"""Expressions that need jq: in processes of their own."""
