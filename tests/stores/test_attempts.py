import asyncio

import pytest

from zaro.errors import StoreError, StoreForbiddenError
from zaro.stores import attempts as module
from zaro.stores.attempts import Passing, attempts, judge


@pytest.fixture(autouse=True)
def soon(monkeypatch):
    monkeypatch.setattr(module, "FIRST_WAIT", 0.001)


def run(outcomes, timeout=5.0):
    """Let attempts have these outcomes, one after the other; returns the result and how many there were."""
    made = []

    async def once():
        made.append(1)
        outcome = outcomes[min(len(made), len(outcomes)) - 1]
        if isinstance(outcome, BaseException):
            raise outcome
        if callable(outcome):
            return await outcome()
        return outcome

    try:
        return asyncio.run(attempts(once, "there", timeout)), len(made)
    except StoreError as err:
        return err, len(made)


def test_what_passes_is_tried_again():
    assert run([ConnectionResetError("reset"), TimeoutError(), Passing("busy"), "done"]) == ("done", 4)


def test_what_stays_is_given_up_with_reason_and_number():
    err, made = run([Passing("busy")])
    assert made == module.MOST_ATTEMPTS
    assert str(err) == f"there: busy (after {made} attempts)"


def test_a_refused_connection_is_given_up_sooner():
    err, made = run([ConnectionRefusedError(111, "refused")])
    assert (made, err.attempts) == (3, 3)


@pytest.mark.parametrize(
    "final", [StoreError("there", "no"), ValueError("no"), OSError(22, "no"), PermissionError("no")]
)
def test_what_is_final_is_not_tried_again(final):
    err, made = run([final])
    assert made == 1
    assert isinstance(err, StoreError)
    assert isinstance(err, StoreForbiddenError) is isinstance(final, PermissionError)


def test_a_file_that_is_not_there_is_passed_on():
    with pytest.raises(FileNotFoundError):
        run([FileNotFoundError("x")])


def test_all_attempts_share_one_time_limit():
    async def hang():
        await asyncio.sleep(60)

    err, made = run([Passing("busy", wait=0.0), hang], timeout=0.2)
    assert made == 2
    assert "no complete answer within 0.2 s; the attempt before: busy" in str(err)


def test_a_server_that_asks_to_wait_longer_than_there_is_time_is_an_error_at_once():
    err, made = run([Passing("busy", wait=100)], timeout=1)
    assert (made, str(err)) == (1, "there: busy")


class ClientError(Exception):
    def __init__(self, status):
        self.response = {"ResponseMetadata": {"HTTPStatusCode": status}}


class HttpError(Exception):
    def __init__(self, code):
        self.code = code


@pytest.mark.parametrize("kind", [ClientError, HttpError])
@pytest.mark.parametrize(
    ("status", "passes"), [(503, True), (429, True), (403, False), (404, False), (416, False)]
)
def test_the_status_of_other_libraries_is_understood(kind, status, passes):
    assert (judge(kind(status)) is not None) is passes
    translated = OSError(5, "busy")
    translated.__cause__ = kind(status)
    assert (judge(translated) is not None) is passes


def test_waits_grow_and_differ():
    assert module._wait(8) > module._wait(1)
    assert len({module._wait(4) for _ in range(20)}) > 1
