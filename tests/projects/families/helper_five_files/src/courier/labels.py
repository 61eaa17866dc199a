from courier import link


class Label:
    def __init__(self, parcel, region):
        self.parcel = parcel
        self.host = link.open_link(region)

    def text(self):
        return f"{self.parcel} via {self.host}"
