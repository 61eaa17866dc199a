def check(got, want):
    if got != want:
        raise AssertionError(f"got {got!r}, want {want!r}")
