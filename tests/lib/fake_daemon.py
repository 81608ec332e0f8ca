"""A stand-in for berthd that answers every call with one reply, or never."""
import contextlib
import json
import pathlib
import socket
import tempfile
import threading


@contextlib.contextmanager
def fake_daemon(reply):
    """The path of its socket. reply None: it accepts and says nothing."""
    with tempfile.TemporaryDirectory(prefix="berth-fake-") as folder, socket.socket(socket.AF_UNIX) as listener:
        path = str(pathlib.Path(folder) / "s")
        listener.bind(path)
        listener.listen()

        def serve():
            with contextlib.suppress(OSError):
                while True:
                    connection, _ = listener.accept()
                    threading.Thread(target=answer, args=(connection,), daemon=True).start()

        def answer(connection):
            with connection, contextlib.suppress(OSError):
                while connection.recv(65536):
                    if reply is not None:
                        connection.sendall(json.dumps({"parameters": reply}).encode() + b"\0")

        threading.Thread(target=serve, daemon=True).start()
        yield path
        listener.shutdown(socket.SHUT_RDWR)


def check_reply(verdict, reason=None, drain=False, findings=(), **more):
    """A reply of Check. findings: their severities."""
    return {"verdict": verdict, "drain": drain, "reason": reason or f"{verdict}: said by a test",
            "findings": [{"severity": severity, "place": "gpu0", "code": "xid", "text": "t", "explains": 0, "slow": []} for severity in findings],
            "unconfirmed": [], "snapshot": "s", "origin": "live", **more}
