"""A convention is told by UUID, then by URL, and last by name."""

from __future__ import annotations

import pytest
from geozarr import UUIDS

from zaro.conventions import ConventionHandler, declares
from zaro.conventions.base import declared
from zaro.conventions.nodes import GroupNode


def declared_by(*declarations):
    node = GroupNode.__new__(GroupNode)
    node.attrs, node.memo = {"zarr_conventions": list(declarations)}, {}
    return set(declared(node))


@pytest.mark.parametrize(("name", "uuid"), UUIDS.items())
def test_a_uuid_tells_a_convention_in_any_case(name, uuid):
    assert declared_by({"uuid": uuid}) == {name}
    assert declared_by({"uuid": uuid.upper(), "name": "something else"}) == {name}


def test_a_foreign_uuid_counts_more_than_name_and_url():
    url = "https://raw.githubusercontent.com/R-CF/zarr_convention_cs/main/schema.json"
    other = "00000000-0000-0000-0000-000000000000"
    assert declared_by({"uuid": other, "name": "cs", "schema_url": url}) == set()


@pytest.mark.parametrize(
    ("repository", "name"),
    [
        ("R-CF/zarr_convention_cs", "cs"),
        ("R-CF/zarr_conventions_cs", "cs"),
        ("R-CF/zarr_convention_ref", "ref"),
        ("R-CF/zarr_convention_geolocation", "geolocation"),
        ("zarr-conventions/spatial", "spatial"),
        ("zarr-conventions/proj", "proj"),
        ("zarr-conventions/geo-proj", "proj"),
        ("zarr-experimental/geo-proj", "proj"),
        ("clbarnes/zarr-convention-uom", "uom"),
    ],
)
@pytest.mark.parametrize(
    "url",
    [
        "https://raw.githubusercontent.com/{}/main/schema.json",
        "https://raw.githubusercontent.com/{}/refs/tags/v0.1/schema.json",
        "https://github.com/{}/blob/0123abc/README.md",
        "https://github.com/{}.git",
        "https://github.com/{}",
    ],
)
def test_a_url_of_any_branch_or_tag_tells_a_convention(repository, name, url):
    assert declared_by({"schema_url": url.format(repository), "name": "other"}) == {name}
    assert declared_by({"spec_url": url.format(repository.upper())}) == {name}


def test_a_url_of_another_known_convention_counts_more_than_the_name():
    url = "https://github.com/zarr-conventions/spatial"
    assert declared_by({"schema_url": url, "name": "cs"}) == {"spatial"}


def test_the_schema_url_counts_more_than_the_spec_url():
    found = {
        "schema_url": "https://github.com/zarr-conventions/spatial",
        "spec_url": "https://github.com/R-CF/zarr_convention_cs",
    }
    assert declared_by(found) == {"spatial"}
    assert declared_by({**found, "schema_url": "https://example.org/schema.json"}) == {"cs"}


@pytest.mark.parametrize(
    ("label", "name"),
    [
        ("spatial", "spatial"),
        ("spatial:", "spatial"),
        ("proj:", "proj"),
        ("Geolocation", "geolocation"),
        ("CS", "cs"),
    ],
)
def test_a_name_tells_a_convention_where_no_url_is_known(label, name):
    assert declared_by({"name": label}) == {name}
    assert declared_by({"name": label, "schema_url": "https://example.org/x/y/schema.json"}) == {name}


@pytest.mark.parametrize(
    "wrong", [None, "cs", {"name": "cs"}, 3, [None, 1, "cs", ["cs"]], [{}], [{"name": 3}]]
)
def test_what_is_no_list_of_objects_declares_nothing(wrong):
    node = GroupNode.__new__(GroupNode)
    node.attrs, node.memo = {"zarr_conventions": wrong}, {}
    assert not declared(node)
    assert not declares(node.attrs, "cs")


def test_a_handler_of_another_package_asks_for_its_own():
    attrs = {"zarr_conventions": [{"uuid": "AB-1"}, {"spec_url": "https://github.com/me/mine/tree/v1"}]}
    assert declares(attrs, "mine", "ab-1")
    assert declares(attrs, "other", None, ("Me/Mine",))
    assert not declares(attrs, "other")
    assert not declares({}, "mine", "ab-1")
    assert declares({"zarr_conventions": [{"name": "Mine:"}]}, "mine", "ab-1")


def test_the_base_gives_nothing():
    assert ConventionHandler.detect(None, None, None) is False
    assert ConventionHandler().get_variables(None, None, None) == {}
