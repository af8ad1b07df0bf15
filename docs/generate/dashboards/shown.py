"""How a value is written and coloured where it is drawn without Grafana."""

from docs.generate.dashboards.parts import Steps

_FILLS = {
    "green": "#b7e1a1",
    "orange": "#ffd08a",
    "red": "#f4a3a3",
    "dark-red": "#d96b6b",
    "blue": "#bcd4f0",
}
_NOTHING = "0.92"
_TIMES = ((86_400, "d"), (3600, "h"), (60, "min"), (1, "s"), (0.001, "ms"))
_SIZES = ((2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB"))
_COUNTS = ((1e6, " M"), (1e3, " k"))


def coloured(steps: Steps, value: float | None) -> str:
    """Return the colour of a value; of one that has no steps, blue; grey without a value."""
    if value is None:
        return _NOTHING
    held = [colour for least, colour in steps if least is None or value >= least]
    return _FILLS[held[-1] if held else "blue"]


def worded(value: float, unit: str, decimals: int | None) -> str:
    """Return a value in the words of its unit, as short as it can be told."""
    match unit:
        case "s":
            return _scaled(value, _TIMES, " ", "s")
        case "bytes":
            return _scaled(value, _SIZES, " ", "B")
        case "percentunit":
            places = 1 if decimals is None else decimals
            return f"{100 * value:.{places}f} %"
        case "ops" | "cpm":
            return f"{_scaled(value, _COUNTS, '', '')}/{'s' if unit == 'ops' else 'min'}"
        case _:
            return _scaled(value, _COUNTS, "", "")


def _scaled(
    value: float, scales: tuple[tuple[float, str], ...], space: str, smallest: str
) -> str:
    for least, name in scales:
        if abs(value) >= least:
            return f"{value / least:.4g}{space}{name}"
    return f"{value:.4g}{space}{smallest}"
