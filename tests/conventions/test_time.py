"""Units of time that xarray can decode are mapped to its words; others are kept aside and told."""

from __future__ import annotations

import numpy as np
import pytest
from geozarr import Leaf, axis, cs, opened, warned, write

SPELLINGS = {
    "seconds": ["s", "sec", "second", "seconds"],
    "minutes": ["min", "minute", "minutes", "m"],
    "hours": ["h", "hr", "hour", "hours"],
    "days": ["d", "day", "days", "Day"],
    "milliseconds": ["ms", "milliseconds"],
    "microseconds": ["us", "microseconds"],
    "nanoseconds": ["ns", "nanoseconds"],
}


def tree(time, values=(1, 2)):
    return {"/g/a": Leaf(np.zeros(2), ("t",), cs({"t": axis({"explicit": list(values)}, time=time)}))}


@pytest.mark.parametrize(
    ("unit", "full"), [(unit, full) for full, units in SPELLINGS.items() for unit in units]
)
def test_every_spelling_of_a_unit_is_mapped(tmp_path, unit, full):
    store = write(tmp_path / "s.zarr", tree({"unit": unit, "epoch": "2000-01-01T06:00:00"}))
    raw = opened(store, "/g", decode_times=False)
    assert raw.t.attrs == {"units": f"{full} since 2000-01-01T06:00:00"}
    code = {"minutes": "m", "milliseconds": "ms", "microseconds": "us", "nanoseconds": "ns", "days": "D"}
    step = np.timedelta64(1, code.get(full, full[0]))
    np.testing.assert_array_equal(
        opened(store, "/g").t, np.datetime64("2000-01-01T06", "ns") + np.array([1, 2]) * step
    )


@pytest.mark.parametrize(
    ("unit", "calendar", "full"),
    [
        ("month", "360_day", "months"),
        ("months", "360_day", "months"),
        ("common_years", "noleap", "common_years"),
    ],
)
def test_units_that_one_calendar_knows_are_used_in_it(tmp_path, unit, calendar, full):
    store = write(tmp_path / "s.zarr", tree({"unit": unit, "epoch": "2000-01-30", "calendar": calendar}))
    assert opened(store, "/g").t.values[0].calendar == calendar
    assert opened(store, "/g").t.encoding["units"] == f"{full} since 2000-01-30"


@pytest.mark.parametrize(
    "calendar", ["noleap", "365_day", "360_day", "all_leap", "julian", "proleptic_gregorian"]
)
def test_a_calendar_is_passed_on(tmp_path, calendar):
    store = write(tmp_path / "s.zarr", tree({"unit": "day", "epoch": "2000-02-28", "calendar": calendar}))
    assert opened(store, "/g").t.encoding["calendar"] == calendar


def test_an_epoch_of_another_calendar_is_no_error(tmp_path):
    time = {"unit": "day", "epoch": "2026-02-30", "calendar": "360_day"}
    assert str(opened(write(tmp_path / "s.zarr", tree(time)), "/g").t.values[0]) == "2026-03-01 00:00:00"


@pytest.mark.parametrize(
    "time",
    [
        {"unit": "month", "epoch": "2000-01-01"},
        {"unit": "years", "epoch": "2000-01-01", "calendar": "noleap"},
        {"unit": "y", "epoch": "2000-01-01"},
        {"unit": "ky", "epoch": "2000-01-01", "calendar": "360_day"},
        {"unit": "day", "epoch": "2000-01-01", "calendar": "mayan"},
        {"unit": "day", "epoch": "2026-02-30"},
        {"unit": "day", "epoch": "yesterday"},
        {"unit": "", "epoch": "2000-01-01"},
        {"unit": "M", "epoch": "2000-01-01"},
    ],
)
@pytest.mark.parametrize("decode_times", [True, False])
def test_what_cannot_be_decoded_is_kept_aside_and_told(tmp_path, time, decode_times):
    found, (warning,) = warned(write(tmp_path / "s.zarr", tree(time)), "/g", decode_times=decode_times)
    assert "cannot be decoded" in str(warning)
    assert str(warning).startswith("XGroupError: /g/a: cs/crs/0/axes/t/coordinates/0/time: ")
    np.testing.assert_array_equal(found.t, [1, 2])
    calendar = {"calendar": time["calendar"]} if "calendar" in time else {}
    assert found.t.attrs == {"time_unit": time["unit"], "time_epoch": time["epoch"], **calendar}


def test_units_that_cannot_be_decoded_replace_those_of_an_external_array(tmp_path):
    store = {
        "/g/a": Leaf(
            np.zeros(2),
            ("t",),
            cs({"t": axis({"external": {"node": "/t"}}, time={"unit": "month", "epoch": "2000-01-01"})}),
        ),
        "/t": Leaf(np.arange(2), ("t",), {"units": "days since 1999-01-01", "calendar": "noleap"}),
    }
    found, _ = warned(write(tmp_path / "s.zarr", store), "/g")
    assert found.t.attrs == {"time_unit": "month", "time_epoch": "2000-01-01"}


@pytest.mark.parametrize(
    ("time", "words"),
    [
        ({"epoch": "2000-01-01"}, "'unit' is missing"),
        ({"unit": "day"}, "'epoch' is missing"),
        ({"unit": 3, "epoch": "2000-01-01"}, "'unit' is 3, expected text"),
        ({"unit": "day", "epoch": 2000}, "'epoch' is 2000, expected text"),
        ({"reference": "days"}, "cannot be decoded"),
        ({"unit": "day", "epoch": "2000-01-01", "calendar": 4}, "the calendar is 4, expected text"),
    ],
)
def test_wrong_members_of_time_are_told_and_the_numbers_stay(tmp_path, time, words):
    found, (warning,) = warned(write(tmp_path / "s.zarr", tree(time)), "/g")
    assert words in str(warning)
    np.testing.assert_array_equal(found.t, [1, 2])


def test_times_past_all_calendars_cost_the_coordinate(tmp_path):
    found, (warning,) = warned(
        write(tmp_path / "s.zarr", tree({"unit": "day", "epoch": "2000-01-01"}, (0, 10**18))), "/g"
    )
    assert "xarray cannot decode it" in str(warning)
    assert not found.coords
