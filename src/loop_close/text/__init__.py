"""Text from outside: made safe, compared, measured and quoted."""
