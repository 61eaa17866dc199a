import pytest
from hypothesis import given
from hypothesis import strategies as st

from loop_close.seeds.supervisor import is_infrastructure_text


@pytest.mark.parametrize(
    "text",
    [
        "MCP error -32001: Request timed out",
        "MCP error -32000: Connection closed",
        "timeout of 10000ms exceeded",
        "Command timed out after 120s",
        "Error: Timeout",
        "TimeoutError",
        "context deadline exceeded",
        "requests.exceptions.ReadTimeout: HTTPSConnectionPool(host='a', port=443): Read timed out.",
        "read ECONNRESET",
        "connect ECONNREFUSED 127.0.0.1:5432",
        "getaddrinfo ENOTFOUND api.example.com",
        "ConnectionResetError: [Errno 104] Connection reset by peer",
        "BrokenPipeError: [Errno 32] Broken pipe",
        "TypeError: fetch failed",
        "socket hang up",
        "429 Too Many Requests",
        "Rate limit exceeded, retry in 3 s",
        "This request would exceed your account's rate limit",
        'API Error: {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}',
        "The server is currently overloaded.",
        "ThrottlingException: Rate exceeded",
        "HTTP 502",
        "HTTP/1.1 500 Internal Server Error",
        "HTTP Error 503: Service Unavailable",
        "Request failed with status code 503",
        '{"statusCode": 504}',
        "AxiosError 500",
        "error code: 529",
        "502 Bad Gateway",
        "OSError: [Errno 28] No space left on device",
        "ENOSPC: no space left on device, write",
        "Disk quota exceeded",
        "sqlite3.OperationalError: database or disk is full",
        "Temporary failure in name resolution",
        "Traceback (most recent call last):\n" + "  File 'a.py', line 3\n" * 300 + "ConnectionError: lost",
    ],
)
def test_of_the_machine(text):
    assert is_infrastructure_text(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "bad",
        "AxiosError 400",
        "HTTP 404",
        "status code 401",
        "Missing required argument: kind, summary",
        "ValueError: timeout must be positive",
        "rate_limit: must be an integer",
        "error: 500 lines differ",
        "No overload matches this call; the function is overloaded by 3 signatures",
        "Permission denied",
        "FAILED tests/test_api.py::test_status - TimeoutError",
        "E       assert 503 == 200\nE        where 503 = HTTP 503",
        "AssertionError: status code 500",
        "FAIL: test_it\nTimeoutError",
        "command exited with code 503 lines",
        "x" * 2_000 + " timed out " + "x" * 2_000,
    ],
)
def test_of_the_tool(text):
    assert not is_infrastructure_text(text)


@given(st.text(st.characters(exclude_categories=())))
def test_any_text_is_taken(text):
    assert is_infrastructure_text(text) in (True, False)
