"""Analysis of Python source: pure functions over syntax trees."""
