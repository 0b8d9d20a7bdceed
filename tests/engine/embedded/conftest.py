"""What tests of the embedded engine share."""

import pytest

from penstock.engine.embedded import engine


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who cancels or pauses is answered when it is done, however busy the machine is."""
    monkeypatch.setattr(engine, "_PATIENCE", 60.0)
