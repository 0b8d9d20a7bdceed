"""What a workflow runs on the server's machine: scripts, shell commands and containers."""
