"""The worst histories that `make search` has found, as it printed them.

They are written out, so that they stay what was found when the generator of histories changes.
"""

from tests.support.adversarial_histories import History, Honest, Tactic

FINDS: dict[str, History] = {
    "a lane of a light queue keeps a place free": History(
        slots=4,
        depth=4,
        honest=(
            Honest(("q", "a"), (210295, 35479), 0, is_quiet=False, known_us=0),
            Honest(("q", "b"), (137742, 96404, 220379), 500000, is_quiet=False, known_us=0),
            Honest(("q", "c"), (82998, 493701), 0, is_quiet=False, known_us=0),
            Honest(("r", "quiet"), (45257,), 0, is_quiet=True, known_us=0),
        ),
        tactics=(
            Tactic("r", "liar0", 48202, 498189786429, 71, 20000000, 0, 15000000, ""),
            Tactic("r", "liar0", 48202, 498189786429, 910, 20000000, 305016, 15000000, ""),
            Tactic("r", "liar1", 4319, 4319, 162, 20000000, 0, 15000000, ""),
            Tactic("r", "liar1", 259083, 4319, 500, 20000000, 4098105, 15000000, ""),
            Tactic("s", "liar2", 24323, None, 3, 20000, 0, 5000000, "tenant"),
        ),
        weights=(
            ("q", "a", 1.0),
            ("q", "b", 14.417365012226647),
            ("q", "c", 1.0),
            ("r", "quiet", 1.0),
            ("r", "liar0", 1.0),
            ("r", "liar1", 0.09275313547437304),
            ("s", "liar2", 1.0),
            ("q", "", 1.0),
            ("r", "", 0.0016608970182705697),
            ("s", "", 1.0),
        ),
        queues_share=False,
        keeps_slots=True,
    ),
    "a light tenant alone before a heavy one begins": History(
        slots=20,
        depth=20,
        honest=(
            Honest(("r", "a"), (30880, 73323, 73110), 500000, is_quiet=False, known_us=0),
            Honest(("q", "b"), (327589, 350084), 0, is_quiet=False, known_us=0),
            Honest(("q", "c"), (243081, 193562), 500000, is_quiet=False, known_us=0),
            Honest(("q", "quiet"), (8398,), 0, is_quiet=True, known_us=0),
        ),
        tactics=(
            Tactic("r", "liar0", 1000, None, 29, 723557, 0, 15000000, ""),
            Tactic("r", "liar0w", 131228, None, 500, 20000000, 9701509, 15000000, ""),
        ),
        weights=(
            ("r", "a", 1.0),
            ("q", "b", 0.006735788423964594),
            ("q", "quiet", 48.72639863182976),
            ("r", "liar0", 1.0),
            ("r", "liar0w", 321.2031872340225),
            ("q", "", 287.0933789843834),
            ("r", "", 1.0),
            ("s", "", 1.0),
            ("q", "c", 6.319605391406476),
        ),
        queues_share=False,
        keeps_slots=True,
    ),
    "behind its share": History(
        slots=2,
        depth=2,
        honest=(
            Honest(
                ("q", "a"), (109063, 227278, 206707), 5613591, is_quiet=False, known_us=2000000
            ),
            Honest(("q", "b"), (251955,), 5612177, is_quiet=False, known_us=2000000),
            Honest(("r", "c"), (191831,), 5732157, is_quiet=False, known_us=2000000),
            Honest(("q", "quiet"), (6657,), 5989970, is_quiet=True, known_us=2000000),
        ),
        tactics=(
            Tactic("s", "liar0", 500000, 316635, 151, 20000000, 219684, 15000000, ""),
            Tactic("s", "liar0", 6099, 316635, 500, 20000000, 3040647, 15000000, ""),
            Tactic(
                "r", "crowd", 350414, 236702534, 1991, 20000000, 5591000, 15000000, "tenant"
            ),
        ),
        weights=(
            ("q", "a", 1.0),
            ("q", "b", 1.0),
            ("r", "c", 1.0),
            ("q", "quiet", 1.0),
            ("s", "liar0", 1.0),
            ("q", "liar1", 1.0),
            ("q", "liar1w", 1.0),
            ("q", "", 1.0),
            ("r", "", 1.0),
            ("r", "crowd", 1.0),
            ("s", "", 1.0517007562191654),
        ),
        queues_share=False,
        keeps_slots=False,
    ),
}
"""By what was found. The first two were beyond the bounds: 3.8 and 1.15 times."""
