"""What a workflow does: one interpreter, and the hosts that it runs on."""
