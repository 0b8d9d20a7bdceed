"""A database's address: what is understood, and what is refused in words that never repeat a password."""

from pathlib import Path

import pytest

from penstock.storage.opening import AddressError, check_address, sqlite_path


@pytest.mark.parametrize(
    ("address", "path"),
    [
        ("sqlite:///penstock.db", "penstock.db"),
        ("sqlite:///var/penstock.db", "var/penstock.db"),
        ("sqlite:////var/lib/penstock.db", "/var/lib/penstock.db"),
        ("sqlite:///a%20b.db", "a b.db"),
    ],
)
def test_three_slashes_are_relative_and_four_absolute(address: str, path: str) -> None:
    assert sqlite_path(address) == Path(path)


@pytest.mark.parametrize(
    "address", ["postgresql://u:p@host/name", "postgres://host:5433/name", "postgresql:///name?host=/tmp"]
)
def test_addresses_of_postgresql_are_understood(address: str) -> None:
    check_address(address)
    assert sqlite_path(address) is None


@pytest.mark.parametrize(
    "address", ["sqlite:", "sqlite://", "sqlite:///", "sqlite:///:memory:", "sqlite://penstock.db", "sqlite::memory:"]
)
def test_an_sqlite_address_without_a_file_is_refused(address: str) -> None:
    with pytest.raises(AddressError, match=r"^database: expected sqlite:///relative/file\.db or"):
        check_address(address)


@pytest.mark.parametrize(
    "address",
    [
        "",
        "penstock.db",
        "mysql://u:s3cret@host/name",
        "postgresql://u:s3cret@host:port/name",
        "postgresql://u:s3cret@host:99999/name",
        "postgresql://u:s3cret@[::1/name",
    ],
)
def test_other_addresses_are_refused_without_repeating_the_password(address: str) -> None:
    with pytest.raises(AddressError, match=r"^database: expected sqlite:///file\.db or postgresql://") as caught:
        check_address(address)
    assert "s3cret" not in str(caught.value)
