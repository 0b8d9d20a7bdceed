"""Penstock: a self-hosted workflow platform with its own front door."""

from importlib.metadata import version

__version__ = version("penstock")
