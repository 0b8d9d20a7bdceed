"""Streams at scale: thousands who listen to one process while workflows run."""
