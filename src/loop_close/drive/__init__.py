"""The driver: tests and an agent in turns, until the tests are green, the loop is stuck, or a limit is reached."""
