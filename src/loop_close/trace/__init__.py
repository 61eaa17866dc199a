"""Records which lines of the code under test each test runs: by ``sys.monitoring``, or from coverage.py's contexts."""
