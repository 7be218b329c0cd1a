"""A server that a measurement starts: connected to, asked, looked at, ended. Imported by the programs beside it."""
import re, socket, subprocess, time


def encode(words):
    return b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(word), word) for word in words)


class Client:
    """A connection that asks and waits for the reply."""

    def __init__(self, port):
        self.client = socket.create_connection(("127.0.0.1", port), 60)
        self.file = self.client.makefile("rb")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.client.close()

    def send(self, *words):
        self.client.sendall(encode([word if isinstance(word, bytes) else word.encode() for word in words]))

    def skip(self, lines):
        """Reads so many replies of a line."""
        for _ in range(lines):
            self.file.readline()

    def call(self, *words):
        """The reply: of a bulk string its bytes, else the line."""
        self.send(*words)
        line = self.file.readline()
        return line if line[:1] != b"$" or line[1:2] == b"-" else self.file.read(int(line[1:]) + 2)


class Server(Client):
    """Runs a command line with a port behind it until the block ends."""

    def __init__(self, command, port):
        self.port = port
        self.process = subprocess.Popen(command + ["--port", str(port)], stdout=subprocess.DEVNULL)
        for _ in range(200):
            try:
                super().__init__(port)
                return
            except OSError:
                time.sleep(0.05)
        self.stop()
        raise SystemExit("the server did not start")

    def __exit__(self, *_):
        self.stop()

    def stop(self):
        self.process.kill()
        self.process.wait()

    @property
    def pid(self):
        return self.process.pid

    def resident(self):
        """Bytes of memory that are its own."""
        return int(re.search(r"VmRSS:\s+(\d+)", open(f"/proc/{self.pid}/status").read())[1]) * 1024
