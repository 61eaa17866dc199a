"""Readers turn what tools print into failures, one format a module."""
