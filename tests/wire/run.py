#!/usr/bin/env python3
"""Plays transcripts against a service: run.py SOCKET FILE... prints TAP.

A transcript is a conversation on one connection, line by line:
  > JSON     send this text and a NUL
  >> PYTHON  send the bytes that this Python expression makes, as they are
  < JSON     the next message; "*" stands for any value, a last array element "..." for any rest,
             and a key "..." for any further keys
  < any      the next message, whatever it says
  <nothing   no message for a fifth of a second
  <end       the service closes the connection
  >end       shut down our side, and go on reading
  --- NAME   a new connection, and a new test
Other lines, and those that begin with #, are for the reader.
"""
import json
import pathlib
import socket
import sys
import time


class Peer:
    def __init__(self, path):
        for attempt in range(500):  # the daemon may be about to listen
            self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            try:
                self.socket.connect(path)
                break
            except (FileNotFoundError, ConnectionRefusedError):
                self.socket.close()
                time.sleep(0.01)
        self.data = b""

    def close(self):
        self.socket.close()

    def send(self, data):
        self.socket.settimeout(10)
        try:
            self.socket.sendall(data)
        except (BrokenPipeError, ConnectionResetError):
            pass  # what it said before it closed is still to be read

    def receive(self, seconds):
        """A message, None at the end, TimeoutError when nothing comes."""
        self.socket.settimeout(seconds)
        while b"\0" not in self.data:
            try:
                data = self.socket.recv(65536)
            except ConnectionResetError:
                data = b""
            if not data:
                assert not self.data, f"it closed in the middle of {self.data!r}"
                return None
            self.data += data
        message, self.data = self.data.split(b"\0", 1)
        return message.decode()


def matches(wanted, value):
    if wanted == "*":
        return True
    if isinstance(wanted, dict):
        return (isinstance(value, dict)
                and all(key in value and matches(wanted[key], value[key]) for key in wanted if key != "...")
                and ("..." in wanted or len(value) == len(wanted)))
    if isinstance(wanted, list):
        if wanted and wanted[-1] == "...":
            wanted, value = wanted[:-1], value[:len(wanted) - 1] if isinstance(value, list) else value
        return isinstance(value, list) and len(value) == len(wanted) and all(map(matches, wanted, value))
    return type(wanted) is type(value) and wanted == value


def play(peer, line):
    if line.startswith(">> "):
        peer.send(eval(line[3:], {"__builtins__": {}}))
    elif line.startswith("> "):
        peer.send(line[2:].encode() + b"\0")
    elif line.startswith(">end"):
        peer.socket.shutdown(socket.SHUT_WR)
    elif line.startswith("<nothing"):
        try:
            said = peer.receive(0.2)
        except TimeoutError:
            return
        raise AssertionError(f"it said {said}")
    elif line.startswith("<end"):
        said = peer.receive(60)
        assert said is None, f"it said {said}"
    elif line.startswith("< "):
        said = peer.receive(60)
        assert said is not None, "it closed"
        assert line == "< any" or matches(json.loads(line[2:]), json.loads(said)), f"it said {said[:2000]}"


def main():
    path, number, failed = sys.argv[1], 0, 0
    for file in map(pathlib.Path, sys.argv[2:]):
        tests = [(file.stem, [])]
        for at, line in enumerate(file.read_text().splitlines(), 1):
            if line.startswith("--- "):
                tests.append((f"{file.stem}: {line[4:]}", []))
            else:
                tests[-1][1].append((at, line))
        for name, lines in tests:
            if not any(line[:1] in "<>" for _, line in lines if line):
                continue
            number += 1
            peer = Peer(path)
            try:
                for at, line in lines:
                    play(peer, line)
                print(f"ok {number} - {name}")
            except (AssertionError, OSError, ValueError) as error:
                failed += 1
                print(f"not ok {number} - {name}\n#   {file}:{at}: {line}\n#   {error or type(error).__name__}")
            finally:
                peer.close()
    print(f"1..{number}")
    return 1 if failed or not number else 0


sys.exit(main())
