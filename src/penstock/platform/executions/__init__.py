"""Executions: a workflow's runs as records, from the trigger to their end."""
