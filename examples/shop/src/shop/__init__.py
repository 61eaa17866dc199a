"""The back end of a small web shop: from the cart to the receipt."""
