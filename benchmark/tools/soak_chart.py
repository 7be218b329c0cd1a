#!/usr/bin/env python3
"""Draws what soak.py has printed: used and resident memory by time, and what the process may take.

    soak.py kv-server --maxmemory 256mb ... > soak.txt; soak_chart.py soak.txt > soak.svg
"""
import re, sys

WIDTH, HEIGHT, LEFT, TOP = 860, 260, 60, 30
COLOURS = {"resident": "#c0392b", "used": "#0b7a75"}


def read(path):
    """([(seconds, used, resident)], what it may take or None), in MB."""
    rows, most = [], None
    for line in open(path):
        row = re.match(r" *(\d+) +([\d.]+) +([\d.]+) +\d+ +\d+ ", line)
        if row:
            rows.append(tuple(float(value) for value in row.groups()))
        bound = re.match(r"\d+ of \d+ rows above ([\d.]+) MB", line)
        most = float(bound[1]) if bound else most
    return rows, most


def draw(rows, most):
    end = max(row[0] for row in rows)
    top = max([row[2] for row in rows] + [most or 0]) * 1.1

    def x(seconds):
        return LEFT + seconds / end * WIDTH

    def y(megabytes):
        return TOP + (1 - megabytes / top) * HEIGHT

    yield (f'<svg xmlns="http://www.w3.org/2000/svg" width="{LEFT + WIDTH + 20}" height="{TOP + HEIGHT + 50}" '
           'font-family="sans-serif" font-size="12">')
    yield '<rect width="100%" height="100%" fill="white"/>'
    yield f'<text x="{LEFT}" y="20" font-weight="bold">MB by minutes</text>'
    for step in range(0, int(top), 50):
        yield (f'<path d="M{LEFT} {y(step):.1f}h{WIDTH}" stroke="#ddd"/>'
               f'<text x="{LEFT - 6}" y="{y(step) + 4:.1f}" text-anchor="end">{step}</text>')
    for minute in range(0, int(end / 60) + 1, 5):
        yield f'<text x="{x(minute * 60):.1f}" y="{TOP + HEIGHT + 16}" text-anchor="middle">{minute}</text>'
    if most:
        yield (f'<path d="M{LEFT} {y(most):.1f}h{WIDTH}" stroke="#555" stroke-dasharray="6 4"/>'
               f'<text x="{LEFT + 4}" y="{y(most) - 5:.1f}" fill="#555">may take {most:.0f}</text>')
    for number, (name, colour) in enumerate(COLOURS.items()):
        points = " ".join(f"{x(row[0]):.1f},{y(row[2 - number]):.1f}" for row in rows)
        yield f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="1.5"/>'
        yield f'<text x="{LEFT + 10 + 90 * number}" y="{TOP + HEIGHT + 38}" fill="{colour}">{name}</text>'
    yield "</svg>"


print("\n".join(draw(*read(sys.argv[1]))))
