"""Tests of penstock.http."""
