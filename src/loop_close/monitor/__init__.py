"""Records which project functions each test called: by ``sys.monitoring``, or from coverage.py contexts."""
