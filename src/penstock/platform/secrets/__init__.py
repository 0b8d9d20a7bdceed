"""Secrets of a project: written by people, opened by the engine, read back by nobody."""
