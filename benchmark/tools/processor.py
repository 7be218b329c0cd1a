"""Processor time of a server a command, under blast.c: server with one worker on the first core, load on the second."""
import os, statistics, subprocess, tempfile, time

from server import Server

CELLS = ["GET:4096:2", "SET:4096:2", "GET:1:50", "SET:1:50"]      # OP:DEPTH:CONNECTIONS


class Subject(Server):
    """A published kv-server whose processor time and commands are counted."""

    def __init__(self, path, port, *options):
        super().__init__(["taskset", "-c", "0", path, "--worker-threads", "1", *options], port)

    def nanoseconds(self):
        return time.clock_gettime_ns(~self.pid << 3 | 2)        # the process' own clock, with threads that have ended

    def commands(self):
        return int(self.call("INFO", "stats").decode().split("total_commands_processed:")[1].split()[0])


class Blast:
    """blast.c, built with gcc."""

    def __init__(self):
        self.program = os.path.join(tempfile.mkdtemp(), "blast")
        source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "blast.c")
        subprocess.run(["gcc", "-O2", "-march=native", source, "-o", self.program, "-lpthread"], check=True)

    def run(self, server, cell, seconds):
        op, depth, connections = cell.split(":")
        subprocess.run(["taskset", "-c", "1", self.program, "127.0.0.1", str(server.port), op, "1", depth, "8", "8", "1024", str(seconds),
                        connections], stdout=subprocess.DEVNULL, check=True)

    def warm(self, server, cells):
        self.run(server, "LOAD:64:1", 1)
        for cell in cells:
            self.run(server, cell, 4)

    def cost(self, server, cell, seconds):
        """Nanoseconds of the server's processors a command."""
        commands, begin = server.commands(), server.nanoseconds()
        self.run(server, cell, seconds)
        return (server.nanoseconds() - begin) / (server.commands() - commands)


def take_turns(subjects, cells, rounds, measure):
    """Prints a row a cell and subject, measured by `measure(subject, cell)` in rounds; ratios are to the first subject."""
    for cell in cells:
        times = {subject: [] for subject in subjects}
        for turn in range(rounds):
            for subject in subjects[::1 if turn % 2 else -1]:
                times[subject].append(measure(subject, cell))
        first = times[subjects[0]]
        for subject, taken in times.items():
            print("| %s | %s | %.1f [%.1f..%.1f] | %.3f, %.3f |" % (cell, subject, statistics.median(taken), min(taken), max(taken),
                  statistics.median(taken) / statistics.median(first), min(taken) / min(first)), flush=True)
