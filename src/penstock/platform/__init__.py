"""Document 2: the JSON API under /api/v1. One folder for each resource, with its routes, its rules and its queries."""
