"""The paper's Table I (percent), for comparison."""

from __future__ import annotations

_DATA = ("emeg-32x20", "emeg-512x1", "sbg-32x20", "sbg-512x1")

# MCC, precision, recall of each data set, as (mean, standard deviation or None).
_ROWS: dict[str, list[tuple[float, float | None]]] = {
    "WindowLogModel": [
        (37.7, None), (35.6, None), (55.7, None), (36.0, None), (37.9, None), (51.2, None),
        (33.6, None), (22.6, None), (66.9, None), (28.6, None), (16.4, None), (72.3, None),
    ],
    "TGFA": [
        (20.7, None), (16.5, None), (63.0, None), (17.8, None), (15.4, None), (86.5, None),
        (14.0, None), (8.7, None), (69.7, None), (15.7, None), (8.5, None), (74.1, None),
    ],
    "GraphDictHier": [
        (50.6, 0.4), (36.6, 1.2), (87.8, 2.1), (40.2, 0.9), (30.8, 1.4), (80.8, 1.9),
        (32.8, 2.1), (19.7, 1.9), (76.5, 0.8), (31.2, 0.3), (17.9, 0.1), (75.5, 0.2),
    ],
    "GraphDictSpectral": [
        (57.2, 6.7), (52.8, 11.6), (71.6, 3.3), (26.9, 0.7), (40.2, 3.3), (27.7, 4.6),
        (29.6, 1.5), (16.3, 0.5), (81.6, 3.3), (18.4, 0.7), (22.3, 6.6), (27.1, 12.0),
    ],
    "GraphDictLog": [
        (61.0, 1.6), (86.2, 1.8), (46.7, 2.5), (46.2, 2.0), (58.4, 4.0), (43.9, 4.0),
        (48.1, 1.1), (40.7, 1.4), (64.7, 0.6), (44.0, 2.2), (39.8, 3.0), (52.1, 2.7),
    ],
}  # fmt: skip

TABLE_I: dict[str, dict[str, dict[str, tuple[float, float | None]]]] = {
    model: {
        data: dict(zip(("mcc", "precision", "recall"), row[3 * i : 3 * i + 3]))
        for i, data in enumerate(_DATA)
    }
    for model, row in _ROWS.items()
}
"""(mean, standard deviation) by model, data set and metric."""
