import pytest

from zaro.errors import StoreError
from zaro.options import Options
from zaro.stores.targets import Targets
from zaro.stores.trust import check_target, comes_from_afar

AFAR = "https://elsewhere.org/refs.json"


@pytest.mark.parametrize(
    ("origin", "afar"),
    [
        (AFAR, True),
        ("s3://bucket/refs", True),
        ("simplecache::https://elsewhere.org/refs.json", True),
        ("zip://refs.json::s3://bucket/a.zip", True),
        ("/data/refs.json", False),
        ("file:///data/refs.json", False),
        ("zip://refs.json::/data/a.zip", False),
        ("", False),
    ],
)
def test_a_document_comes_from_where_its_last_link_lies(origin, afar):
    assert comes_from_afar(origin) is afar


LOCAL = [
    "/etc/passwd",
    "etc/passwd",
    "~/.ssh/id_rsa",
    "$HOME/.netrc",
    "file:///etc/passwd",
    "FILE:///etc/passwd",
    "local:///etc/passwd",
    "file:/etc/passwd",
    "memory://secret",
    "git:///etc/repo",
    "simplecache::file:///etc/passwd",
    "simplecache::/etc/passwd",
    "filecache::local:///etc/passwd",
    "zip://member::/home/me/a.zip",
    "zip://member::file:///home/me/a.zip",
    "zip://member::simplecache::/home/me/a.zip",
    "file::https://elsewhere.org/x",
    "https://elsewhere.org/x::file:///etc/passwd",
    "file:///etc/passwd::https://elsewhere.org/x",
    "reference://x::https://elsewhere.org/refs.json",
    "dask::file:///etc/passwd",
    "dir://etc::file:///",
    "made-up://x",
    "zip://member",
    "::",
    "",
]


@pytest.mark.parametrize("url", LOCAL)
def test_references_from_afar_do_not_reach_this_machine(url):
    with pytest.raises(StoreError, match="from afar"):
        Targets(AFAR, Options()).local_path(url)
    with pytest.raises(StoreError, match="from afar"):
        Targets(AFAR, Options()).place(url)


@pytest.mark.parametrize(
    "url",
    [
        "https://other.org/a.nc",
        "s3://bucket/a.nc",
        "gs://bucket/a.nc",
        "simplecache::s3://bucket/a.nc",
        "zip://a.nc::https://other.org/a.zip",
        "data:,hello",
    ],
)
def test_references_from_afar_reach_the_network(url):
    assert Targets(AFAR, Options()).local_path(url) is None


@pytest.mark.parametrize("protocol", ["file", "local", None])
def test_a_protocol_of_this_machine_does_not_open_it(protocol):
    with pytest.raises(StoreError, match="from afar"):
        Targets(AFAR, Options.of(remote_protocol=protocol)).local_path("/etc/passwd")


def test_references_of_this_machine_reach_anything():
    targets = Targets("/data/refs.json", Options())
    assert targets.local_path("/data/a.nc") == "/data/a.nc"
    assert targets.local_path("file:///data/a.nc") == "/data/a.nc"
    assert targets.local_path("memory://x") is None


ALLOWED = [
    ("/data/a.nc", "/data/", True),
    ("/data/a.nc", "file:///data/", True),
    ("file:///data/a.nc", "/data", True),
    ("/database/a.nc", "/data/", False),
    ("/data/../etc/passwd", "/data/", False),
    ("/data/x/../../etc/passwd", "/data", False),
    ("file:///data/../etc/passwd", "file:///data/", False),
    ("/etc/passwd", "s3://bucket/", False),
    ("s3://bucket/a.nc", "s3://bucket/", True),
    ("s3://bucket/a.nc", "s3://bucket", True),
    ("s3://bucket-of-another/a.nc", "s3://bucket", False),
    ("s3://bucket/data-2020.nc", "s3://bucket/data-20", True),
    ("s3://bucket/a.nc", "s3://", True),
    ("https://good.org.evil.com/x", "https://good.org", False),
    ("https://good.org@evil.com/x", "https://good.org", False),
    ("https://good.org/data/../secret", "https://good.org/data/", False),
    ("https://good.org/data/%2e%2e/secret", "https://good.org/data/", False),
    ("https://good.org/data/a..b", "https://good.org/data/", True),
    ("simplecache::s3://bucket/a.nc", "s3://bucket/", True),
    ("zip://m::s3://bucket/a.zip", "s3://bucket/", True),
    ("zip://m::file:///etc/a.zip", "s3://bucket/", False),
    ("simplecache::file:///etc/passwd", "simplecache::", True),
    ("https://good.org/x::file:///etc/passwd", "https://good.org/", False),
    ("reference://x::https://good.org/refs.json", "https://good.org/", False),
    ("memory://x", "memory://", True),
]


@pytest.mark.parametrize(("url", "prefix", "allowed"), ALLOWED)
@pytest.mark.parametrize("origin", [AFAR, "/data/refs.json", ""])
def test_allow_targets_decides_wherever_the_document_lies(origin, url, prefix, allowed):
    if allowed:
        check_target(url, origin, (prefix,))
    else:
        with pytest.raises(StoreError, match="allow_targets"):
            check_target(url, origin, (prefix,))


def test_no_prefix_allows_nothing():
    with pytest.raises(StoreError, match="allow_targets"):
        check_target("s3://bucket/a.nc", "", ())
