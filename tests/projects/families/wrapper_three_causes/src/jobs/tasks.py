"""What can be run."""


def average(data):
    return sum(data["values"]) / len(data["weights"])


def largest(data):
    return max(data["values"].values())


def labels(data):
    return [f"{name}:{data['unit']}" for name in data["names"]]


def count(data):
    return len(data["values"])
