"""The cookie that carries a sign-in over to its callback."""

import base64
import os

import msgspec
import pytest

from penstock.accounts.oauth import Pending, Refused, seal, unseal

from .forge import CALLBACK, Clock

KEY = os.urandom(32)


@pytest.fixture
def pending(clock: Clock) -> Pending:
    return Pending("peer", "s" * 43, "v" * 43, "n" * 43, "/x", int(clock.now) + 600, CALLBACK)


def test_what_was_sealed_comes_back(pending: Pending) -> None:
    assert unseal(seal(pending, KEY), KEY) == pending


def test_the_cookie_shows_nothing_and_never_repeats(pending: Pending) -> None:
    cookie = seal(pending, KEY)
    content = base64.urlsafe_b64decode(cookie + "==")
    assert not any(part in content for part in (b"v" * 8, b"n" * 8, b"s" * 8, b"peer"))
    assert cookie != seal(pending, KEY)
    assert all(character.isalnum() or character in "-_" for character in cookie)


def test_a_cookie_of_another_server_is_refused(pending: Pending) -> None:
    with pytest.raises(Refused, match="start again"):
        unseal(seal(pending, os.urandom(32)), KEY)


def test_a_cookie_with_any_one_character_changed_is_refused(pending: Pending) -> None:
    cookie = seal(pending, KEY)
    for place in range(len(cookie) - 1):  # the last one bears bits that base64 does not read
        other = "A" if cookie[place] != "A" else "B"
        with pytest.raises(Refused):
            unseal(cookie[:place] + other + cookie[place + 1 :], KEY)


@pytest.mark.parametrize("cookie", ["", "x", "é", "=", "AAAA", "A" * 100, "a b", "A" * 5000, "\ud800"])
def test_what_is_no_cookie_of_ours_is_refused(cookie: str) -> None:
    with pytest.raises(Refused):
        unseal(cookie, KEY)


def test_a_cookie_is_good_for_ten_minutes(pending: Pending, clock: Clock) -> None:
    cookie = seal(pending, KEY)
    clock.now += 599
    assert unseal(cookie, KEY, clock=clock) == pending
    clock.now += 1
    with pytest.raises(Refused):
        unseal(cookie, KEY, clock=clock)


def test_a_cookie_that_claims_to_last_longer_is_refused(pending: Pending, clock: Clock) -> None:
    with pytest.raises(Refused):
        unseal(seal(msgspec.structs.replace(pending, expires=int(clock.now) + 86400), KEY), KEY, clock=clock)


def test_a_cookie_that_no_browser_would_keep_is_not_made(pending: Pending) -> None:
    with pytest.raises(Refused, match="too long"):
        seal(msgspec.structs.replace(pending, redirect_uri="https://penstock.example/" + "x" * 3000), KEY)


def test_the_longest_return_path_still_fits(pending: Pending) -> None:
    assert len(seal(msgspec.structs.replace(pending, next="/" + "x" * 1023), KEY)) < 3800


def test_a_short_key_is_a_mistake_of_the_caller(pending: Pending) -> None:
    with pytest.raises(ValueError, match="16 bytes"):
        seal(pending, b"short")
