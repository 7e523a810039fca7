"""GRIB: values of every field are those that ecCodes decodes."""

from __future__ import annotations

import itertools
import warnings

import eccodes
import numpy as np
import pytest
import xarray as xr
from grib_files import RNG, SAMPLES, N, decoded, fields, joined_message, message

import zaro
from zaro.errors import ScanError
from zaro.scan import scan
from zaro.scan.gribfile import fields_of


def test_each_message_is_a_chunk_with_the_values_of_eccodes(tmp_path):
    found = fields()
    (tmp_path / "f.grib2").write_bytes(b"header of the line\r\n" + b"\n".join(found.values()))
    refs = scan(tmp_path / "f.grib2", inline_threshold=0)
    array = zaro.open(refs)["t"]
    assert array.shape == (3, 2, 31, 16)
    assert array.chunks == (1, 1, 31, 16)
    for s, step in enumerate((0, 6, 12)):
        for k, level in enumerate((850, 500)):
            np.testing.assert_array_equal(array[s, k].reshape(-1), decoded(found[step, level]))
    with xr.open_dataset(refs, engine="zaro", decode_timedelta=True) as ds:
        assert ds["t"].dims == ("step", "isobaricInhPa", "latitude", "longitude")
        assert ds["isobaricInhPa"].values.tolist() == [850, 500]
        assert ds["step"].values.tolist() == [int(h * 3.6e12) for h in (0, 6, 12)]
        assert np.isnan(ds["t"].values).sum() == len(range(0, N, 7))


def test_cfgrib_finds_the_same(tmp_path):
    (tmp_path / "f.grib2").write_bytes(b"".join(fields().values()))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = xr.open_dataset(
            tmp_path / "f.grib2", engine="cfgrib", backend_kwargs={"indexpath": ""}
        ).load()
    with xr.open_dataset(scan(tmp_path / "f.grib2"), engine="zaro", decode_timedelta=True) as found:
        for name in ("t", "latitude", "longitude", "time", "step"):
            np.testing.assert_allclose(
                found[name].values.astype("f8"), expected[name].values.astype("f8"), rtol=1e-6, err_msg=name
            )


def test_a_message_of_several_fields_has_each(tmp_path):
    one, two = (message(shortName=name, values=RNG.normal(5, 1, N)) for name in ("10u", "10v"))
    joined = joined_message(one, two)
    assert [decoded(f).tolist() for f in fields_of(joined)] == [decoded(one).tolist(), decoded(two).tolist()]
    (tmp_path / "multi.grib2").write_bytes(joined)
    root = zaro.open(scan(tmp_path / "multi.grib2"))
    np.testing.assert_array_equal(root["u10"][...].reshape(-1), decoded(one))
    np.testing.assert_array_equal(root["v10"][...].reshape(-1), decoded(two))


@pytest.mark.parametrize("sample", SAMPLES)
def test_grids_of_every_kind_are_read(tmp_path, sample):
    data = message(sample)
    (tmp_path / "g.grib").write_bytes(data)
    root = zaro.open(scan(tmp_path / "g.grib"))
    values = [node for node in root.values() if "GRIB_gridType" in node.attrs]
    assert len(values) == 1
    np.testing.assert_array_equal(values[0][...].reshape(-1), decoded(data))


def lat_lon_grid(i_negative, j_positive, consecutive, alternating, **keys) -> bytes:
    """Five by four points from 40N 10E to 37N 14E; values count in the order of the message."""
    south, north = 37.0, 40.0
    first, last = ("First", "Last") if j_positive else ("Last", "First")
    west, east = ("Last", "First") if i_negative else ("First", "Last")
    return message(
        "regular_ll_pl_grib2",
        **{f"latitudeOf{first}GridPointInDegrees": south, f"latitudeOf{last}GridPointInDegrees": north},
        **{f"longitudeOf{west}GridPointInDegrees": 10.0, f"longitudeOf{east}GridPointInDegrees": 14.0},
        **{"iDirectionIncrementInDegrees": 1.0, "jDirectionIncrementInDegrees": 1.0, "Ni": 5, "Nj": 4},
        **scanning(i_negative, j_positive, consecutive, alternating),
        **keys,
        values=np.arange(20.0),
        bitsPerValue=16,
    )


def scanning(i_negative, j_positive, consecutive, alternating) -> dict[str, int]:
    return {
        "iScansNegatively": i_negative,
        "jScansPositively": j_positive,
        "jPointsAreConsecutive": consecutive,
        "alternativeRowScanning": alternating,
    }


def walk(i_negative, j_positive, consecutive, alternating):
    """Column from the west and row from the south of each point, in the order of the message."""
    for slow in range(5 if consecutive else 4):
        for fast in range(4 if consecutive else 5):
            turned = (3 if consecutive else 4) - fast if alternating and slow % 2 else fast
            i, j = (slow, turned) if consecutive else (turned, slow)
            yield 4 - i if i_negative else i, j if j_positive else 3 - j


def located(path) -> dict[tuple[float, float], float]:
    """Values of the one field of a file by latitude and longitude."""
    with xr.open_dataset(scan(path), engine="zaro") as ds:
        (name,) = ds.data_vars
        columns = xr.broadcast(ds["latitude"], ds["longitude"], ds[name])
        lat, lon, values = (one.transpose(*columns[2].dims).values.reshape(-1) for one in columns)
        return dict(zip(zip(lat.round(3), lon.round(3), strict=True), values.round(3), strict=True))


MODES = list(itertools.product((0, 1), repeat=4))


@pytest.mark.parametrize("mode", MODES)
def test_values_are_where_the_scanning_mode_says(tmp_path, mode):
    (tmp_path / "f.grib2").write_bytes(lat_lon_grid(*mode))
    found = located(tmp_path / "f.grib2")
    assert found == {(37.0 + j, 10.0 + i): float(k) for k, (i, j) in enumerate(walk(*mode))}
    if mode[0] or mode[2]:
        return  # cfgrib takes columns for rows, and does not look whether they go westward
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ds = xr.open_dataset(tmp_path / "f.grib2", engine="cfgrib", backend_kwargs={"indexpath": ""})
    places = itertools.product(ds["latitude"].values, ds["longitude"].values)
    assert found == dict(zip(places, ds["t"].values.reshape(-1).tolist(), strict=True))


STEP, RADIUS = 50_000.0, 6_371_229.0  # metres


def mercator(lat, lon):
    return np.cos(np.pi / 9) * lon, np.cos(np.pi / 9) * np.log(np.tan(np.pi / 4 + lat / 2))


def polar_stereographic(lat, lon):
    rho = (1 + np.sin(np.pi / 3)) * np.tan(np.pi / 4 - lat / 2)
    return rho * np.sin(lon - np.radians(5)), -rho * np.cos(lon - np.radians(5))


def lambert(lat, lon):
    n = np.sin(np.pi / 4)
    rho = np.cos(np.pi / 4) * (np.tan(3 * np.pi / 8) / np.tan(np.pi / 4 + lat / 2)) ** n / n
    return rho * np.sin(n * (lon - np.radians(5))), -rho * np.cos(n * (lon - np.radians(5)))


def lambert_azimuthal_equal_area(lat, lon):
    centre, angle = np.radians(52), lon - np.radians(5)
    cosine = np.sin(centre) * np.sin(lat) + np.cos(centre) * np.cos(lat) * np.cos(angle)
    y = np.cos(centre) * np.sin(lat) - np.sin(centre) * np.cos(lat) * np.cos(angle)
    return np.cos(lat) * np.sin(angle) * np.sqrt(2 / (1 + cosine)), y * np.sqrt(2 / (1 + cosine))


PROJECTIONS = {
    mercator: {"LaDInDegrees": 20.0, "DiInMetres": STEP, "DjInMetres": STEP},
    polar_stereographic: {"LaDInDegrees": 60.0, "orientationOfTheGridInDegrees": 5.0},
    lambert: dict.fromkeys(("LaDInDegrees", "Latin1InDegrees", "Latin2InDegrees"), 45.0)
    | {"LoVInDegrees": 5.0},
    lambert_azimuthal_equal_area: {
        "standardParallelInDegrees": 52.0,
        "centralLongitudeInDegrees": 5.0,
        "xDirectionGridLengthInMetres": STEP,
        "yDirectionGridLengthInMetres": STEP,
    },
}


def projected_grid(project, mode) -> bytes:
    """Five by four points, the first at 50N 10E; values count in the order of the message."""
    steps = {"DxInMetres": STEP, "DyInMetres": STEP} if project in (lambert, polar_stereographic) else {}
    first = {"latitudeOfFirstGridPointInDegrees": 50.0, "longitudeOfFirstGridPointInDegrees": 10.0}
    size = {"gridType": project.__name__, "Nx": 5, "Ny": 4, "shapeOfTheEarth": 6}
    keys = size | first | steps | PROJECTIONS[project] | scanning(*mode)
    return message("regular_ll_pl_grib2", **keys, values=np.arange(20.0), bitsPerValue=16)


def by_iterator(path) -> dict[tuple[float, float], float]:
    """Values by latitude and longitude, as ecCodes pairs them."""
    handle = eccodes.codes_new_from_message(path.read_bytes())
    found = eccodes.codes_grib_get_data(handle)
    eccodes.codes_release(handle)
    return {(round(one["lat"], 3), round(one["lon"], 3)): round(one["value"], 3) for one in found}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("project", PROJECTIONS)
def test_values_of_projected_grids_are_where_the_projection_puts_them(tmp_path, project, mode):
    (tmp_path / "f.grib2").write_bytes(projected_grid(project, mode))
    corner = np.array(project(*np.radians((50, 10))))
    # of the others ecCodes, and GDAL, take the first point for the one in the south-west
    start = np.array(next(walk(*mode)) if project is lambert_azimuthal_equal_area else (0, 0))
    there, found = located(tmp_path / "f.grib2"), {}
    if not (
        mode[3] and (mode[2] or project is lambert_azimuthal_equal_area)
    ):  # its iterator follows no turns
        assert there == by_iterator(tmp_path / "f.grib2")
    for (lat, lon), value in there.items():
        steps = (np.array(project(*np.radians((lat, lon)))) - corner) * RADIUS / STEP
        np.testing.assert_allclose(steps, steps.round(), atol=0.01)
        found[tuple(start + steps.round().astype(int))] = value
    assert found == {place: float(k) for k, place in enumerate(walk(*mode))}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("sample", ["regular_gg_sfc_grib2", "rotated_gg_sfc_grib2"])
def test_values_of_gaussian_grids_are_where_the_scanning_mode_says(tmp_path, sample, mode):
    i_negative, j_positive, consecutive, alternating = mode
    ends = {
        "latitudeOfFirstGridPointInDegrees": -87.864 if j_positive else 87.864,
        "latitudeOfLastGridPointInDegrees": 87.864 if j_positive else -87.864,
        "longitudeOfFirstGridPointInDegrees": 357.188 if i_negative else 0.0,
        "longitudeOfLastGridPointInDegrees": 0.0 if i_negative else 357.188,
    }
    north = np.repeat(np.arange(64), 128).reshape(64, 128)  # rows from the south
    east = np.tile(np.arange(128), 64).reshape(64, 128)
    lines = np.stack([north, east])[:, :: 1 if j_positive else -1, :: -1 if i_negative else 1]
    lines = lines.transpose(0, 2, 1).copy() if consecutive else lines.copy()
    if alternating:
        lines[:, 1::2] = lines[:, 1::2, ::-1]
    stored = (lines[0] * 128 + lines[1]).reshape(-1).astype("f8")
    (tmp_path / "f.grib2").write_bytes(
        message(sample, values=stored, bitsPerValue=16, **ends, **scanning(*mode))
    )
    (tmp_path / "plain.grib2").write_bytes(
        message(sample, values=np.arange(8192.0).reshape(64, 128)[::-1].reshape(-1), bitsPerValue=16)
    )
    found, plain = located(tmp_path / "f.grib2"), located(tmp_path / "plain.grib2")
    assert {(lat, round(lon % 360, 2)): v for (lat, lon), v in found.items()} == {
        (lat, round(lon % 360, 2)): v for (lat, lon), v in plain.items()
    }


@pytest.mark.parametrize("mode", MODES)
def test_rotated_grids_scan_as_others(tmp_path, mode):
    (tmp_path / "f.grib2").write_bytes(lat_lon_grid(*mode, gridType="rotated_ll"))
    (tmp_path / "plain.grib2").write_bytes(lat_lon_grid(0, 1, 0, 0, gridType="rotated_ll"))
    found, plain = located(tmp_path / "f.grib2"), located(tmp_path / "plain.grib2")
    at = {value: place for place, value in plain.items()}
    assert found == {at[5.0 * j + i]: float(k) for k, (i, j) in enumerate(walk(*mode))}


@pytest.mark.parametrize("key", ["iScansNegatively", "jScansPositively", "jPointsAreConsecutive"])
def test_reduced_grids_that_scan_otherwise_are_an_error(tmp_path, key):
    (tmp_path / "f.grib2").write_bytes(message("reduced_gg_sfc_grib2", **{key: 1}))
    with pytest.raises(ScanError, match=f"positions of reduced_gg grids with .*{key}=1"):
        scan(tmp_path / "f.grib2")


def test_rows_of_a_reduced_grid_that_scan_in_turns_are_an_error(tmp_path):
    (tmp_path / "f.grib2").write_bytes(message("reduced_gg_sfc_grib2", alternativeRowScanning=1))
    with pytest.raises(ScanError, match="alternativeRowScanning=1 is not supported"):
        scan(tmp_path / "f.grib2")


def accumulated(start, end):
    keys = {"productDefinitionTemplateNumber": 8, "typeOfStatisticalProcessing": 1, "shortName": "tp"}
    return message(values=RNG.gamma(1, 3, N), **keys, stepRange=f"{start}-{end}")


def layer(top, bottom, kind=103, scale=0, **keys):
    for name, value in (("First", top), ("Second", bottom)):
        keys[f"typeOf{name}FixedSurface"] = kind
        keys[f"scaleFactorOf{name}FixedSurface"] = scale
        keys[f"scaledValueOf{name}FixedSurface"] = value
    return message(values=RNG.normal(5, 1, N), **keys)


def percentile(value):
    return message(values=RNG.normal(5, 1, N), productDefinitionTemplateNumber=6, percentileValue=value)


def probability(lower):
    keys = {"productDefinitionTemplateNumber": 5, "probabilityType": 3}
    limit = {"scaleFactorOfLowerLimit": 2, "scaledValueOfLowerLimit": lower}
    return message(values=RNG.uniform(0, 1, N), **keys, **limit)


@pytest.mark.parametrize(
    ("make", "places", "names"),
    [
        pytest.param(
            accumulated,
            [(0, 3), (0, 6), (6, 9), (0, 9), (6, 12), (0, 12), (12, 15), (0, 15)],
            {
                "tp": [(0, 3), (0, 6), (0, 9), (0, 12), (0, 15)],
                "tp_3h": [(6, 9), (12, 15)],
                "tp_6h": [(6, 12)],
            },
            id="intervals",
        ),
        pytest.param(accumulated, [(0, 3), (3, 6)], {"tp": [(0, 3), (3, 6)]}, id="intervals of their own"),
        pytest.param(
            layer, [(0, 1000), (0, 6000)], {"t_to1000": [(0, 1000)], "t_to6000": [(0, 6000)]}, id="layers"
        ),
        pytest.param(
            lambda top, bottom: layer(top, bottom, 106, 1),
            [(1, 4), (4, 10), (1, 7)],
            {"t_to0.4": [(1, 4)], "t_to1": [(4, 10)], "t_to0.7": [(1, 7)]},
            id="layers of centimetres",
        ),
        pytest.param(
            lambda top, bottom: layer(top, bottom, 106, 1),
            [(0, 1), (1, 4), (4, 10)],
            {"t": [(0, 1), (1, 4), (4, 10)]},
            id="layers one below the other",
        ),
        pytest.param(
            percentile,
            [(10,), (90,)],
            {"t_percentile10": [(10,)], "t_percentile90": [(90,)]},
            id="percentiles",
        ),
        pytest.param(
            probability,
            [(27315,), (28000,)],
            {"t_lower273.15": [(27315,)], "t_lower280": [(28000,)]},
            id="probabilities",
        ),
    ],
)
def test_fields_of_one_place_are_told_apart(tmp_path, make, places, names):
    found = {place: make(*place) for place in places}
    (tmp_path / "f.grib2").write_bytes(b"".join(found.values()) + found[places[1]])
    root = zaro.open(scan(tmp_path / "f.grib2"))
    assert {name for name, node in root.items() if "GRIB_gridType" in node.attrs} == set(names)
    for name, its in names.items():
        expected = [decoded(found[place]) for place in its]
        np.testing.assert_array_equal(root[name][...].reshape(len(its), N), expected, err_msg=name)


def edition_1(table, number, step):
    """A field of a parameter of a table of edition 1."""
    keys = {"table2Version": table, "indicatorOfParameter": number, "P1": step}
    return message("regular_ll_sfc_grib1", values=RNG.normal(5, 1, N), **keys)


@pytest.mark.parametrize(
    "names",
    [
        pytest.param({"parameter_250_3": [(250, 3, 6)], "parameter_250_77": [(250, 77, 12)]}, id="unknown"),
        pytest.param({"parameter_250_3": [(250, 3, 6), (250, 3, 12)]}, id="one that is unknown"),
        pytest.param(
            {"tp_param228": [(128, 228, 6)], "tp_param228228": [(228, 228, 12)]}, id="one name of two"
        ),
        pytest.param(
            {"tp_param228": [(128, 228, 6)], "tp_param228228": [(228, 228, 6)]},
            id="one name and place of two",
        ),
        pytest.param({"tp": [(228, 228, 6), (228, 228, 12)]}, id="one"),
    ],
)
def test_parameters_are_told_apart(tmp_path, names):
    found = {place: edition_1(*place) for places in names.values() for place in places}
    (tmp_path / "f.grib1").write_bytes(b"".join(found.values()))
    root = zaro.open(scan(tmp_path / "f.grib1"))
    arrays = {name: node for name, node in root.items() if "GRIB_gridType" in node.attrs}
    assert set(arrays) == set(names)
    for name, places in names.items():
        expected = [decoded(found[place]) for place in places]
        np.testing.assert_array_equal(arrays[name][...].reshape(len(places), N), expected)
        if name.startswith("tp"):
            assert arrays[name].attrs["units"] == ("m" if places[0][0] == 128 else "kg m**-2")


def test_centres_number_parameters_on_their_own(tmp_path):
    keys = {"discipline": 0, "parameterCategory": 200, "parameterNumber": 200}
    found = {
        centre: message(values=RNG.normal(5, 1, N), centre=centre, step=step, **keys)
        for step, centre in enumerate(("ecmf", "kwbc"))
    }
    (tmp_path / "f.grib2").write_bytes(b"".join(found.values()))
    root = zaro.open(scan(tmp_path / "f.grib2"))
    for centre, data in found.items():
        array = root[f"parameter_0_200_200_centre{centre}"]
        np.testing.assert_array_equal(array[...].reshape(-1), decoded(data))


def test_times_have_seconds(tmp_path):
    found = [message(values=RNG.normal(5, 1, N), second=second) for second in (30, 0)]
    (tmp_path / "f.grib2").write_bytes(b"".join(found))
    with xr.open_dataset(scan(tmp_path / "f.grib2"), engine="zaro") as ds:
        assert (ds["time"] - ds["time"][0]).values.tolist() == [0, 30 * 10**9]
        np.testing.assert_array_equal(ds["t"].values.reshape(2, N), [decoded(data) for data in found[::-1]])


def test_messages_of_edition_1_that_are_longer_than_it_can_say(tmp_path):
    found = []
    for rows in (2000, 4001):  # below 2^24 bytes, and above
        values = RNG.normal(280, 10, 3000 * rows)
        found.append(message("regular_ll_sfc_grib1", values=values, Ni=3000, Nj=rows, bitsPerValue=16))
    (tmp_path / "f.grib").write_bytes(b"".join(found))
    assert len(found[0]) < 1 << 24 < len(found[1])
    arrays = [node for _, group in zaro.open(scan(tmp_path / "f.grib")).items() for node in group.values()]
    for data, array in zip(found, [node for node in arrays if "GRIB_gridType" in node.attrs], strict=True):
        np.testing.assert_array_equal(array[...].reshape(-1), decoded(data))
    (tmp_path / "cut.grib").write_bytes(found[1][:100])
    with pytest.raises(ScanError, match="does not end with 7777"):
        scan(tmp_path / "cut.grib")


def test_fields_of_one_place_that_differ_and_broken_messages_are_errors(tmp_path):
    data = message()
    (tmp_path / "twice.grib2").write_bytes(data + message(values=np.ones(N)))
    with pytest.raises(ScanError, match="two fields of the same place"):
        scan(tmp_path / "twice.grib2")
    (tmp_path / "cut.grib2").write_bytes(data[:-10])
    with pytest.raises(ScanError, match="does not end with 7777"):
        scan(tmp_path / "cut.grib2")
