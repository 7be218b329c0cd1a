"""Draws what a program shows on a terminal as an SVG file: terminal_svg.py FILE.svg COLUMNS SECONDS COMMAND [ARGUMENT ...]

The program runs on a terminal of its own and gets SIGINT after so many seconds; drawn is what stands there then. Understood is
what Resp.benchmark writes: lines, carriage return, erase line, bold and eight colours. See docs/images/README.md.
"""
import fcntl
import html
import os
import pty
import re
import select
import signal
import struct
import sys
import termios
import time

COLOURS = {31: "#ff6b6b", 32: "#3fd08f", 90: "#5c6773"}
CELL_WIDTH, CELL_HEIGHT, MARGIN = 7.8, 18, 14


def watch(columns, seconds, command):
    """All bytes that the command has written when its time is over."""
    child, terminal = pty.fork()
    if child == 0:
        os.environ["TERM"] = "xterm-256color"
        time.sleep(0.2)     # until the terminal has its size
        os.execvp(command[0], command)
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
    written, end = b"", time.time() + seconds
    while time.time() < end:
        if select.select([terminal], [], [], 0.1)[0]:
            try:
                written += os.read(terminal, 65536)
            except OSError:
                break       # it has ended
    # Asked first, so that it stops what it has started; its last words are not drawn.
    os.kill(child, signal.SIGINT)
    stop = time.time() + 20
    while os.waitpid(child, os.WNOHANG)[0] == 0:
        if time.time() > stop:
            os.kill(child, signal.SIGKILL)
        elif select.select([terminal], [], [], 0.1)[0]:
            try:
                os.read(terminal, 65536)
            except OSError:
                time.sleep(0.1)
    return written.decode(errors="replace")


def screen(text, columns):
    """Lines of (letter, colour, bold)."""
    lines, at, colour, bold = [[]], 0, None, False
    text = re.sub(r"\x1b\[\?[0-9;]*[hl]|\x1b[=>]", "", text)     # modes of the keyboard
    for escape, codes, erase, letter in re.findall(r"(\x1b\[([0-9;]*)m)|(\x1b\[2K)|([^\x1b])", text):
        if erase:
            lines[-1] = []
        elif escape:
            for code in (int(code or 0) for code in codes.split(";")):
                if code == 0:
                    colour, bold = None, False
                elif code == 1:
                    bold = True
                else:
                    colour = COLOURS.get(code)
        elif letter == "\r":
            at = 0
        elif letter == "\n":
            lines.append([])
            at = 0
        elif at < columns:
            line = lines[-1]
            line.extend([(" ", None, False)] * (at + 1 - len(line)))
            line[at] = (letter, colour, bold)
            at += 1
    return lines


def draw(lines, columns):
    width, height = columns * CELL_WIDTH + 2 * MARGIN, len(lines) * CELL_HEIGHT + 2 * MARGIN
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" height="{height:.0f}">',
             f'<rect width="{width:.0f}" height="{height:.0f}" rx="8" fill="#12161c"/>',
             '<g font-family="ui-monospace, DejaVu Sans Mono, Menlo, Consolas, monospace" font-size="13" fill="#e6eaf0">']
    for row, line in enumerate(lines):
        y, column = MARGIN + row * CELL_HEIGHT + 13, 0
        while column < len(line):
            end = column + 1
            while end < len(line) and line[end][1:] == line[column][1:]:
                end += 1
            letters, (_, colour, bold) = "".join(letter for letter, _, _ in line[column:end]), line[column]
            if letters.strip():
                style = (f' fill="{colour}"' if colour else "") + (' font-weight="bold"' if bold else "")
                parts.append(f'<text x="{MARGIN + column * CELL_WIDTH:.1f}" y="{y}" textLength="{(end - column) * CELL_WIDTH:.1f}"{style}>{html.escape(letters).replace(" ", "&#160;")}</text>')
            column = end
    return "\n".join(parts + ["</g>", "</svg>"]) + "\n"


if __name__ == "__main__":
    path, columns, seconds = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
    with open(path, "w", encoding="utf-8") as file:
        file.write(draw(screen(watch(columns, seconds, sys.argv[4:]), columns), columns))
