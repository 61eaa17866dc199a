"""What was edited in the project since the run before: listed, read, compared."""
