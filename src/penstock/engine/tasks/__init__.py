"""Performing a call, a script, a shell command, a container …: one file for each kind."""
