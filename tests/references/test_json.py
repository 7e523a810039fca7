import json

import originals as slow
from hypothesis import given, settings
from hypothesis import strategies as st

from zaro.references.files import file_table
from zaro.references.scanning import scan_document
from zaro.references.set import References


def documents(refs):
    return st.sampled_from([refs, {"version": 1, "refs": refs}, {"refs": refs, "version": 1}, {"refs": refs}])


@given(st.data())
@settings(max_examples=400, deadline=None)
def test_documents_read_as_the_original_reads_them(data):
    refs = data.draw(slow.reference_sets())
    expected = slow.original(refs)
    assert dict(References.open(refs)) == expected
    document = data.draw(documents(refs))
    assert dict(References.open(document)) == expected
    text = data.draw(slow.spellings(document))
    expected = slow.original(json.loads(text))
    assert dict(References.open(text)) == expected
    sizes = data.draw(st.lists(st.integers(1, 40), min_size=1, max_size=6))
    scanned = scan_document(slow.in_pieces(text, sizes), "")
    contents = scanned.contents(file_table(*scanned.scanner.files(), None))
    assert dict(References(contents)) == expected
