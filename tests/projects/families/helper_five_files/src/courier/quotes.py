from courier.link import open_link


def quote(weight, region):
    host = open_link(region)
    return {"host": host, "cents": 400 + weight * 10}


def cheapest(weight):
    return min((quote(weight, region) for region in ("eu", "us")), key=lambda found: found["cents"])
