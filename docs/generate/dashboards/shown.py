"""Format and colour values in the pictures that are drawn without Grafana."""

from docs.generate.dashboards.parts import Steps

_FILLS = {
    "green": "#b7e1a1",
    "orange": "#ffd08a",
    "red": "#f4a3a3",
    "dark-red": "#d96b6b",
    "blue": "#bcd4f0",
}
_NOTHING = "0.92"
_Scales = tuple[tuple[float, str], ...]
_TIMES: _Scales = ((86_400, "d"), (3600, "h"), (60, "min"), (1, "s"), (0.001, "ms"))
_SIZES: _Scales = ((2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB"), (1, "B"))
_COUNTS: _Scales = ((1e6, " M"), (1e3, " k"), (1, ""))


def coloured(steps: Steps, value: float | None) -> str:
    """Return the colour of a value: blue without steps, grey without a value."""
    if value is None:
        return _NOTHING
    held = [colour for least, colour in steps if least is None or value >= least]
    return _FILLS[held[-1] if held else "blue"]


def worded(value: float, unit: str, decimals: int | None) -> str:
    """Return a value with its unit, as short as possible."""
    size = measure(value, unit)
    match unit:
        case "percentunit":
            places = 1 if decimals is None else decimals
            return f"{100 * value:.{places}f} %"
        case "s":
            return f"{_short(value / size)} {_named(size, _TIMES)}"
        case "bytes":
            return f"{_short(value / size)} {_named(size, _SIZES)}"
        case "ops" | "cpm":
            each = "s" if unit == "ops" else "min"
            return f"{_short(value / size)}{_named(size, _COUNTS)}/{each}"
        case _:
            return f"{_short(value / size)}{_named(size, _COUNTS)}"


def measure(value: float, unit: str) -> float:
    """Return the size of the unit in which a value is written: 60 for some minutes."""
    if unit == "percentunit":
        return 0.01
    scales = {"s": _TIMES, "bytes": _SIZES}.get(unit, _COUNTS)
    return next((least for least, _ in scales if abs(value) >= least), _usual(scales))


def _usual(scales: _Scales) -> float:
    """Return the unit of zero: 0 s, 0 B."""
    return min((least for least, _ in scales), key=lambda least: abs(least - 1))


def _named(size: float, scales: _Scales) -> str:
    return dict(scales)[size]


def _short(value: float) -> str:
    """Return three significant figures, or all before the point."""
    return f"{value:.3g}" if abs(value) < 999.5 else f"{value:.0f}"
