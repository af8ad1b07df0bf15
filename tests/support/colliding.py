"""Different names of which PostgreSQL makes one hash: who names things can choose such.

`hash_bytes` mixes twelve bytes at a time into a state of twelve bytes, and what mixes can be
undone: for each first twelve bytes there are second ones after which the state is the same.
Seven such pairs for each of five segments of a name make 16,807 names.
"""

from collections.abc import Iterator
from functools import cache
from itertools import islice, product
from random import Random
from struct import pack, unpack
from typing import Final

_BITS: Final = 0xFFFFFFFF
_SEGMENT: Final = 24
_ROUNDS: Final = ((4, 0), (6, 1), (8, 2), (16, 0), (19, 1), (4, 2))
"""By how many bits a round rotates, and which of the three words it changes."""

State = tuple[int, int, int]


@cache
def names(count: int, *, segments: int = 5, seed: int = 1) -> tuple[str, ...]:
    """Return so many names of ASCII signs that hash alike, of 24 bytes a segment."""
    variants = 1
    while variants**segments < count:
        variants += 1
    random, state = Random(seed), _begin(_SEGMENT * segments)
    parts: list[list[bytes]] = []
    for _ in range(segments):
        found, state = _segment(state, variants, random)
        parts.append(found)
    return tuple(b"".join(chosen).decode() for chosen in islice(product(*parts), count))


def _segment(state: State, count: int, random: Random) -> tuple[list[bytes], State]:
    """Return pairs of blocks that lead from this state to one and the same, and that state."""
    first, second = _block(random), _block(random)
    meeting = _plus(_mix(_plus(state, first)), second)
    found = [first + second]
    found += islice(_others(state, meeting, random), count - 1)
    return found, _mix(meeting)


def _others(state: State, meeting: State, random: Random) -> Iterator[bytes]:
    while True:
        first = _block(random)
        reached = _mix(_plus(state, first))
        words = [(end - word) & _BITS for end, word in zip(meeting, reached, strict=True)]
        second = pack("<3I", *words)
        if all(0 < byte < 128 for byte in second):
            yield first + second


def _block(random: Random) -> bytes:
    return bytes(random.choices(range(ord("a"), ord("z") + 1), k=12))


def _begin(length: int) -> State:
    word = (0x9E3779B9 + length + 3923095) & _BITS
    return word, word, word


def _plus(state: State, block: bytes) -> State:
    a, b, c = (
        word + more & _BITS for word, more in zip(state, unpack("<3I", block), strict=True)
    )
    return a, b, c


def _mix(state: State) -> State:
    words = list(state)
    for bits, place in _ROUNDS:
        before, after = (place + 2) % 3, (place + 1) % 3
        word = words[place] - words[before] & _BITS
        rotated = (words[before] << bits | words[before] >> 32 - bits) & _BITS
        words[place] = word ^ rotated
        words[before] = words[before] + words[after] & _BITS
    a, b, c = words
    return a, b, c
