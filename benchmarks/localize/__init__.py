"""How well the output of a red run names the faulty function: ``python -m benchmarks.localize``. See ``__main__``."""
