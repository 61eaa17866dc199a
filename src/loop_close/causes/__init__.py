"""Evidence to root causes: what one fix should clear stands together."""

from loop_close.causes.grouping import group, in_order

__all__ = ["group", "in_order"]
