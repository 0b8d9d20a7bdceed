"""Dashboards: how a workflow does, and how all of them do that one can see."""
