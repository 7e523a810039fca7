"""Who keeps the garbage collector still lets it go again, whoever else does so meanwhile."""

from __future__ import annotations

import gc
import os
import threading

import pytest

from zaro.collector import still


def test_it_is_still_inside_and_runs_again_after() -> None:
    assert gc.isenabled()
    with still():
        assert not gc.isenabled()
        with still():
            assert not gc.isenabled()
        assert not gc.isenabled()
    assert gc.isenabled()
    with pytest.raises(KeyError), still():
        raise KeyError
    assert gc.isenabled()


def test_the_last_of_many_threads_lets_it_go() -> None:
    first_is_in, second_is_in, first_is_out = threading.Event(), threading.Event(), threading.Event()
    seen = []

    def first() -> None:
        with still():
            first_is_in.set()
            second_is_in.wait(10)
        first_is_out.set()

    def second() -> None:
        first_is_in.wait(10)
        with still():
            second_is_in.set()
            first_is_out.wait(10)
            seen.append(gc.isenabled())

    threads = [threading.Thread(target=each) for each in (first, second)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert seen == [False]
    assert gc.isenabled()


def test_one_that_did_not_run_before_does_not_run_after() -> None:
    gc.disable()
    try:
        with still():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore:.*fork")
def test_a_child_that_is_forked_meanwhile_collects() -> None:
    with still():
        child = os.fork()
        if not child:
            os._exit(0 if gc.isenabled() else 1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert gc.isenabled()
