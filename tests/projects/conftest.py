"""The projects below are input for end-to-end tests; none of them is collected by our own suite."""

collect_ignore_glob = ["*"]
