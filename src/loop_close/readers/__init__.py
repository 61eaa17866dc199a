"""Turn what a tool said into records, one input format a file."""
