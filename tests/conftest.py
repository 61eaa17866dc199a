from hypothesis import settings

pytest_plugins = ["pytester"]

# The same examples on every run and machine, however slow it is: a red test can be run again.
settings.register_profile("deterministic", derandomize=True, deadline=None, database=None)
settings.load_profile("deterministic")
