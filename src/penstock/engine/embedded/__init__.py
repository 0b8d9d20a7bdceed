"""The default host: in this process, durable in this database."""
