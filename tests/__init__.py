"""Tests. They see no setting of whoever runs them, so what is meant for them is taken from the environment first."""

import os

# A copy of the Serverless Workflow specification (examples/, ctk/, schema/), for the tests that hold us to it.
SPECIFICATION = os.environ.get("PENSTOCK_SPECIFICATION")
