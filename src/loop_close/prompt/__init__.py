"""Reports to text: the next prompt and the JSON report."""
