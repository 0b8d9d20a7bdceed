"""The engine on a Temporal cluster: the same interpreter as a workflow, calls as activities, the same tables.

Needs the package `temporalio` (`penstock[temporal]`); nothing outside imports these modules before it is asked for.
"""
