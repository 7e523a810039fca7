"""Ask again: which failures may pass, how long to wait, when to give up."""

from __future__ import annotations

import asyncio
import errno
import random
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from zaro.errors import StoreError, StoreForbiddenError

__all__ = ["PASSING_STATUS", "Passing", "attempts"]

T = TypeVar("T")

MOST_ATTEMPTS = 7
FIRST_WAIT = 0.1  # seconds; doubles with every attempt
LONGEST_WAIT = 10.0

PASSING_STATUS = frozenset({408, 425, 429, 500, 502, 503, 504, 520, 521, 522, 523, 524})
"""HTTP answers that another attempt may better."""
_PASSING_ERRNO = {
    errno.EAGAIN,
    errno.EBUSY,
    errno.ECONNABORTED,
    errno.ECONNRESET,
    errno.EHOSTUNREACH,
    errno.EINTR,
    errno.ENETUNREACH,
    errno.EPIPE,
    errno.ETIMEDOUT,
    getattr(errno, "EREMOTEIO", errno.EIO),
}
# where nobody listens another attempt rarely helps
_REFUSED_ATTEMPTS = 3
# bases of the errors about connections, by name: their libraries need not be installed
_NETWORK_ERRORS = {
    "ClientConnectionError",  # aiohttp
    "ClientPayloadError",
    "HTTPClientError",  # botocore
    "IncompleteRead",
    "IncompleteReadError",
    "ProtocolError",  # urllib3
    "ChunkedEncodingError",  # requests
    "ServiceRequestError",  # azure
    "ServiceResponseError",
}


class Passing(Exception):
    """A failure that another attempt may better.

    Parameters
    ----------
    reason : str
    wait : float or None
        Seconds that the server asks to wait.
    most : int
        Attempts after which it is believed.
    """

    def __init__(self, reason: str, *, wait: float | None = None, most: int = MOST_ATTEMPTS) -> None:
        super().__init__(reason)
        self.reason, self.wait, self.most = reason, wait, most


async def attempts(once: Callable[[], Awaitable[T]], url: str, timeout: float) -> T:
    """Try until it works, the failure is final, or the time is over.

    Raises
    ------
    FileNotFoundError
        There is no such file.
    StoreError
        Naming the reason, and how many attempts were made.
    """
    loop = asyncio.get_running_loop()
    deadline = loop.time() + timeout
    n, reason = 0, "no answer"
    while True:
        n += 1
        try:
            async with asyncio.timeout_at(deadline) as limit:
                return await once()
        except FileNotFoundError:
            raise
        except StoreError as err:
            err.attempts = n
            raise
        except Exception as err:
            if limit.expired():
                raise StoreError(
                    url, f"no complete answer within {timeout:g} s{_so_far(n, reason)}", n
                ) from err
            failure = judge(err)
            if failure is None:
                kind = StoreForbiddenError if _forbidden(err) else StoreError
                raise kind(url, _text(err), n) from err
            reason = failure.reason
            wait = _wait(n) if failure.wait is None else max(failure.wait, 0.0)
            if n >= failure.most or loop.time() + wait >= deadline:
                raise StoreError(url, reason, n) from err
            await asyncio.sleep(wait)


def _wait(n: int) -> float:
    """Seconds before attempt n + 1, spread so that many clients do not come back together."""
    return float(min(FIRST_WAIT * 2 ** (n - 1), LONGEST_WAIT) * random.uniform(0.5, 1.0))


def _so_far(n: int, reason: str) -> str:
    return f"; the attempt before: {reason}" if n > 1 else ""


def _text(err: BaseException) -> str:
    told = _response(err)
    if isinstance(told, dict):  # botocore; s3fs tells the message, and leaves out what it is
        error = told.get("Error", {})
        return f"{error.get('Code')}: {error.get('Message')}"
    text = str(err)
    return (
        text if type(err) in (OSError, ValueError) and text else f"{type(err).__name__}: {text}".rstrip(": ")
    )


def judge(err: BaseException) -> Passing | None:
    """Say how a library's failure may pass; None where it will not."""
    if isinstance(err, Passing):
        return err
    names = {kind.__name__ for kind in type(err).__mro__}
    if isinstance(err, PermissionError) or any("Certificate" in name or "Url" in name for name in names):
        return None
    code = getattr(err, "errno", None)
    if code == errno.ECONNREFUSED or names & {
        "gaierror",
        "ClientConnectorDNSError",
        "EndpointConnectionError",
    }:
        return Passing(_text(err), most=_REFUSED_ATTEMPTS)
    if names & _NETWORK_ERRORS:
        return Passing(_text(err))
    status = _status(err)
    if status is not None:
        return Passing(_text(err)) if status in PASSING_STATUS else None
    passes = isinstance(err, (TimeoutError, ConnectionError, EOFError)) or code in _PASSING_ERRNO
    return Passing(_text(err)) if passes else None


def _forbidden(err: BaseException) -> bool:
    return isinstance(err, PermissionError) or _status(err) in (401, 403)


def _status(err: BaseException) -> int | None:
    """The HTTP status that a library's error carries under one of its names."""
    cause, response = _cause(err), _response(err)
    if isinstance(response, dict):  # botocore
        return _int(response.get("ResponseMetadata", {}).get("HTTPStatusCode"))
    facts = {**getattr(response, "__dict__", {}), **getattr(cause, "__dict__", {})}
    found = (_int(facts.get(name)) for name in ("status", "status_code", "code"))
    return next((status for status in found if status is not None), None)


def _cause(err: BaseException) -> BaseException:
    """What s3fs has translated to an error of the system."""
    return err.__cause__ if type(err) in (OSError, PermissionError) and err.__cause__ else err


def _response(err: BaseException) -> Any:
    return getattr(_cause(err), "response", None)


def _int(value: object) -> int | None:
    return (
        int(value)
        if isinstance(value, (int, str)) and str(value).isdecimal() and 100 <= int(value) < 600
        else None
    )
