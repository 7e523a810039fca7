"""The cage: who burns the processor's time is told from who waits, and a busy machine hurts neither."""

import json

import pytest
import scripts

SCRIPT = """
import json, sys, time
import caged

WORK = {
    "spins": lambda: sum(iter(int, 1)),
    "waits": lambda: time.sleep(60),
    "waits for a while": lambda: time.sleep(1.5),
}
print(json.dumps(caged._fork(WORK[sys.argv[1]], 1, float(sys.argv[2]))))
"""


@pytest.mark.parametrize(
    ("work", "waits", "found"),
    [
        ("spins", 100, {"what": "hang", "text": "more than 1 s of the processor"}),
        ("waits", 0.3, {"what": "hang", "text": "no answer in 0.3 s"}),
        ("waits for a while", 100, None),
    ],
)
def test_what_takes_too_long_is_a_hang(work, waits, found):
    assert json.loads(scripts.finished(SCRIPT, work, waits)) == found
