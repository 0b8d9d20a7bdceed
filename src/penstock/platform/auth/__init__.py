"""Signing in for the API: register, login, refresh, logout, me, and the ways in through providers."""
