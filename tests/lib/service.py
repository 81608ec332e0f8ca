"""A peer in place of a daemon, with replies chosen by the test, for tests of clients."""
import json
import shutil
import socket
import tempfile
import threading


class Service:
    """Answers each call with the raw messages of answer(message); None closes the connection."""

    def __init__(self, answer):
        self.directory = tempfile.mkdtemp(prefix="berth-test-")
        self.path = self.directory + "/s"
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(self.path)
        self.listener.listen()
        self.answer = answer
        self.thread = threading.Thread(target=self.serve, daemon=True)
        self.thread.start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        # ends accept in its thread, which otherwise may get the next service's descriptor
        self.listener.shutdown(socket.SHUT_RDWR)
        self.thread.join()
        self.listener.close()
        shutil.rmtree(self.directory)

    def serve(self):
        while True:
            try:
                connection = self.listener.accept()[0]
            except OSError:
                return
            threading.Thread(target=self.talk, args=(connection,), daemon=True).start()

    def talk(self, connection):
        buffer = b""
        with connection:
            while True:
                while b"\0" not in buffer:
                    data = connection.recv(65536)
                    if not data:
                        return
                    buffer += data
                message, buffer = buffer.split(b"\0", 1)
                for reply in self.answer(json.loads(message)):
                    if reply is None:
                        return
                    try:
                        connection.sendall(reply)
                    except OSError:
                        return
