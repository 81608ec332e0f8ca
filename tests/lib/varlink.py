"""A small Varlink client for tests: one connection, calls in order.

Replies are (name of the error or None, parameters).
"""
import json
import socket


class Connection:
    def __init__(self, path, timeout=60):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.socket.connect(path)  # waits in the queue; with a timeout it would fail
        self.socket.settimeout(timeout)
        self.buffer = bytearray()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def send(self, method, parameters=None, **flags):
        message = {"method": method, "parameters": parameters or {}, **flags}
        self.socket.sendall(json.dumps(message).encode() + b"\0")

    def receive(self):
        """One message, or None when the peer has closed."""
        looked = 0
        while (end := self.buffer.find(b"\0", looked)) < 0:
            looked = len(self.buffer)
            data = self.socket.recv(1 << 18)
            if not data:
                return None
            self.buffer += data
        message = bytes(self.buffer[:end])
        del self.buffer[:end + 1]
        return json.loads(message)

    def call(self, method, parameters=None):
        self.send(method, parameters)
        reply = self.receive()
        return reply.get("error"), reply.get("parameters", {})

    def stream(self, method, parameters=None):
        """Yields (error, parameters) until the last reply."""
        self.send(method, parameters, more=True)
        while True:
            reply = self.receive()
            if reply is None:
                return
            yield reply.get("error"), reply.get("parameters", {})
            if not reply.get("continues"):
                return


def call(path, method, parameters=None):
    with Connection(path) as connection:
        return connection.call(method, parameters)
