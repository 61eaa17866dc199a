"""What is known from run to run, in a file: touches the disk, knows no rules."""
