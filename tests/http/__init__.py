"""Tests of penstock.http."""  # noqa: A005 - it mirrors the package, and is imported as tests.http
