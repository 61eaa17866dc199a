"""Evidence to root causes: what one fix should clear stands together."""

from loop_close.causes.group import group

__all__ = ["group"]
