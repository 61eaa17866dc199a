"""Which project functions each test called: seen by ``sys.monitoring``, or read from coverage.py's contexts."""
