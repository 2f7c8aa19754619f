"""plot.py - the benchmark's result as a picture: a bar for each row, as a ratio to its floor, with every run as a dot.

  python3 tests/bench/plot.py RESULT.json > PLOT.svg
"""

import json
import sys
from xml.sax.saxutils import escape

WIDTH, LEFT, RIGHT, TOP, STEP, BAR = 900, 330, 190, 60, 52, 20


def draw(rows):
    """SVG text. A bar beyond its target is drawn in another colour; the target is a line across it."""
    height = TOP + STEP * len(rows) + 40
    runs = [mine / direct for row in rows for mine, direct in zip(row["mount_runs"], row["floor_runs"])]
    most = max([2.0, *runs, *(row["target_ratio"] for row in rows)]) * 1.05
    scale = (WIDTH - LEFT - RIGHT) / most
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" '
             'font-family="sans-serif" font-size="13">',
             f'<rect width="{WIDTH}" height="{height}" fill="white"/>',
             '<text x="12" y="24" font-size="16">time on the mount, as a ratio to the same requests sent directly</text>']
    for mark in range(int(most) + 1):
        x = LEFT + mark * scale
        parts.append(f'<line x1="{x:.1f}" y1="{TOP - 14}" x2="{x:.1f}" y2="{height - 30}" stroke="#ddd"/>'
                     f'<text x="{x:.1f}" y="{height - 12}" text-anchor="middle" fill="#666">{mark}</text>')
    for index, row in enumerate(rows):
        y = TOP + STEP * index
        reached = row["ratio"] <= row["target_ratio"]
        target = LEFT + row["target_ratio"] * scale
        parts.append(f'<text x="{LEFT - 10}" y="{y + 15}" text-anchor="end">{escape(row["title"])}</text>'
                     f'<rect x="{LEFT}" y="{y}" width="{row["ratio"] * scale:.1f}" height="{BAR}" '
                     f'fill="{"#5a9e6f" if reached else "#c8714f"}"/>'
                     f'<line x1="{target:.1f}" y1="{y - 6}" x2="{target:.1f}" y2="{y + BAR + 6}" stroke="black" '
                     'stroke-dasharray="4 3"/>')
        for mine, direct in zip(row["mount_runs"], row["floor_runs"]):
            parts.append(f'<circle cx="{LEFT + mine / direct * scale:.1f}" cy="{y + BAR / 2}" r="3" '
                         'fill="none" stroke="black"/>')
        parts.append(f'<text x="{WIDTH - RIGHT + 10}" y="{y + 9}">{row["ratio"]:.2f} '
                     f'({row["mount_seconds"]:.2f} s / {row["floor_seconds"]:.2f} s)</text>'
                     f'<text x="{WIDTH - RIGHT + 10}" y="{y + 25}" fill="#666">CPU {row["daemon_cpu_seconds"]:.2f} s, '
                     f'peak {row["daemon_peak_mib"]:.0f} MiB</text>')
    parts.append(f'<text x="{WIDTH - RIGHT + 10}" y="{height - 12}" fill="#666">dashed: the target</text></svg>')
    return "\n".join(parts) + "\n"


if __name__ == "__main__":
    with open(sys.argv[1], encoding="utf-8") as result:
        sys.stdout.write(draw(json.load(result)))
