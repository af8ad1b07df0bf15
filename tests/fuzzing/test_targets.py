"""The targets of the fuzzing take what they begin at; `python -m tests.fuzzing` goes on."""

import random

import pytest

from tests.fuzzing.targets import TARGETS


@pytest.mark.parametrize("name", TARGETS)
def test_a_parser_keeps_its_promise_on_texts_near_those_it_reads(name: str) -> None:
    """Whole, cut off, and with some bytes changed."""
    target, chance = TARGETS[name], random.Random(1)
    for seed in target.seeds:
        target.try_(seed)
        for _ in range(20):
            data = bytearray(seed[: chance.randint(1, len(seed))])
            for _ in range(chance.randint(0, 3)):
                data[chance.randrange(len(data))] = chance.randrange(256)
            target.try_(bytes(data))
