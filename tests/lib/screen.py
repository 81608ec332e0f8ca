"""What the command shows on a terminal of 80 columns."""
import fcntl
import os
import pathlib
import pty
import struct
import subprocess
import termios

from tap import LeftOut

BIN = pathlib.Path(os.environ.get("BIN", pathlib.Path(__file__).resolve().parent.parent.parent / "build/bin")).resolve()
WIDTH = 80
PLAIN = {**os.environ, "LANG": "C.UTF-8", "LC_ALL": "C.UTF-8", "TERM": "xterm", "TZ": "IST-05:30", "NO_COLOR": "1", "BERTH_SOCKET": "/nonexistent"}


def shown(*words, environment=None):
    """The exit status, and the lines that the terminal shows."""
    try:
        master, slave = pty.openpty()
    except OSError as error:
        raise LeftOut(f"no terminal can be opened here: {error}") from error
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, WIDTH, 0, 0))
    with subprocess.Popen([BIN / "berth", *words], stdin=subprocess.DEVNULL, stdout=slave, stderr=slave, env={**PLAIN, **(environment or {})}) as berth:
        os.close(slave)
        text = b""
        while True:
            try:
                piece = os.read(master, 65536)
            except OSError:  # nobody has it open any longer
                break
            if not piece:
                break
            text += piece
    os.close(master)
    return berth.returncode, text.decode().replace("\r\n", "\n").splitlines()
