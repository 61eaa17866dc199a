from courier.link import open_link


def track(number):
    region = "eu" if number.startswith("E") else "us"
    return f"https://{open_link(region)}/track/{number}"


def track_all(numbers):
    return [track(number) for number in numbers]
