"""What Python source says about a statement: pure functions over syntax trees."""
