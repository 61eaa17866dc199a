import pytest
from queue_client.broker import publish, trace_id


def test_trace_id():
    assert len(trace_id()) == 6


@pytest.mark.parametrize("topic", ["orders", "returns", "stock", "mail", "audit", "prices", "users", "carts"])
def test_publish(topic):
    assert publish(topic, {"n": 1})


def test_publish_empty():
    assert publish("orders", {})


def test_publish_twice():
    publish("orders", {})
    assert publish("orders", {})
