"""Readers turn what tools print into failures, one family of formats a module."""
