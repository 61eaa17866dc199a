"""What the plugin costs, as ratios measured in pairs: ``python -m benchmarks``. See docs/benchmarks.md."""
