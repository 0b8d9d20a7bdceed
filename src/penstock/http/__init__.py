"""What every surface shares on its way in and out: the edge, bodies, problems, logs, metrics, OpenAPI."""
