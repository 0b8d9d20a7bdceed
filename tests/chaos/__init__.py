"""Executions by the hundred on a server that is killed again and again, and then an account of every one of them."""
