"""The threads that reads share: what goes wrong on one of them, and when the output is the caller's again."""

import threading
import time

import pytest

from zaro import config
from zaro.read import threads
from zaro.read.threads import on_threads


def run_three(work):
    """Let three threads, 0 the caller's, work: the error, who is still at work, whether it stopped."""
    numbers = threading.local()
    begun = threading.Barrier(3)
    count, busy, stops = iter((1, 2)), set(), []

    def take_part(worker):
        is_callers = threading.current_thread() is threading.main_thread()
        numbers.own = 0 if is_callers else next(count)
        begun.wait(10)
        busy.add(numbers.own)
        try:
            work(numbers.own, stops)
        finally:
            busy.remove(numbers.own)

    error = None
    try:
        with config.threads_set_to(3):
            on_threads(take_part, lambda: stops.append(None), 3)
    except BaseException as err:
        error = err
    return error, sorted(busy), bool(stops)


def dawdle_but(which, error):
    def work(number, stops):
        if number == which:
            raise error
        if number:
            time.sleep(0.3)

    return work


@pytest.mark.parametrize("which", [0, 1, 2])
def test_whoever_fails_stops_the_others_and_nobody_is_at_work_when_it_is_told(which):
    error = MemoryError("no room")
    assert run_three(dawdle_but(which, error)) == (error, [], True)


def test_the_callers_own_error_counts_before_those_of_helpers():
    def work(number, stops):
        raise KeyError(number)

    error, busy, _ = run_three(work)
    assert (error.args, busy) == ((0,), [])


def test_an_interrupt_while_the_caller_waits_for_helpers_stops_them(monkeypatch):
    waited = threads.wait
    interrupts = iter((KeyboardInterrupt,))

    def wait(helpers):
        for interrupt in interrupts:
            raise interrupt
        return waited(helpers)

    def work(number, stops):
        until = time.monotonic() + 10
        while number and not stops and time.monotonic() < until:
            time.sleep(0.01)
        assert not number or stops

    monkeypatch.setattr(threads, "wait", wait)
    error, busy, stopped = run_three(work)
    assert (type(error), busy, stopped) == (KeyboardInterrupt, [], True)
