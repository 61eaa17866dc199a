"""Turn live exceptions into records, in the process where they were raised. Touches frames and files."""
