"""The link to the carrier's system."""


class CarrierUnreachable(ConnectionError):
    """The carrier's system does not answer."""


HOSTS = {"eu": "eu.carrier.example", "us": "us.carrier.example"}


def open_link(region):
    host = HOSTS.get(region.upper())
    if host is None:
        raise CarrierUnreachable(f"no route to the carrier in {region}")
    return host
