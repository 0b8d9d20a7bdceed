"""Temporal is optional: who asks for it without its package is told which one."""

import pytest

from penstock.platform import engine
from penstock.settings import SettingsError


def test_without_the_package_a_sentence_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    engine.require_temporal()
    monkeypatch.setattr(engine, "find_spec", lambda _: None)
    with pytest.raises(SettingsError, match=r"install penstock\[temporal\]"):
        engine.require_temporal()
