import pytest
from locks import lock


@pytest.fixture
def held(request):
    name = lock.acquire(request.node.name.title())
    yield name
    lock.release(name)
