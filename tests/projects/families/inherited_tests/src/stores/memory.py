"""Key-value stores."""


class Store:
    def __init__(self):
        self.data = {}

    def put(self, key, value):
        self.data[self.key(key)] = value

    def get(self, key):
        return self.data[key]

    def key(self, key):
        return key


class UpperStore(Store):
    def key(self, key):
        return key.upper()


class PrefixStore(Store):
    def key(self, key):
        return f"app/{key}"


class HashedStore(Store):
    def key(self, key):
        return str(sum(map(ord, key)))
