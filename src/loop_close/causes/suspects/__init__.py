"""Which functions probably hold the fault behind a root cause."""
