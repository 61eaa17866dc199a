"""When to alert whom."""


def low_stock(item, level, notify):
    """Tells the buyer once when there are fewer than ten left."""
    if level < 1:
        notify("buyer", f"{item} is low")


def late_order(order, days, notify):
    """Tells the customer once when an order is over three days late."""
    if days > 3:
        notify("customer", order)
        notify("customer", order)
