"""Opens the pages of berth report and berth fleet in headless Chromium: nothing overflows or is cut, every picture is
drawn, and all that is wider than the screen says so.

Prints TAP. Talks to the browser by its DevTools pipe: JSON messages that end with a NUL.
"""
import base64
import contextlib
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / folder) for folder in ("lib", "system", "bench")]
from berthd import BIN, NODES  # noqa: E402
from fleet import SERIES, archive, drawn  # noqa: E402
from health import recorded_but  # noqa: E402
from hive_node import Hives  # noqa: E402
from tap import LeftOut, run_tests  # noqa: E402

REPORTS = ["mi250x", "gh200-quad", "h200x4", "mi300a", "epyc-2s", "hives", "degraded"]  # hives: 64 GPUs
FLEETS = ["fleet", "sound-fleet", "names-fleet"]  # with slow nodes, without, with long names
VIEWS = [(width, scheme) for width in (1280, 390) for scheme in ("light", "dark")]
# What a reader cannot see: text cut at its box or over its edge, pictures wider than their column,
# boxes that scroll without a word, pale boxes on a dark page.
FAULTS = """(() => {
    const faults = [], box = e => e.getBoundingClientRect(), name = e => e.tagName + '.' + (e.getAttribute('class') || '') + ': ' + e.textContent.slice(0, 40);
    const dark = matchMedia('(prefers-color-scheme:dark)').matches;
    const light = colour => { const part = (colour.match(/[0-9.]+/g) || []).map(Number); return part.length < 3 || part[3] === 0 ? 0 : (part[0] + part[1] + part[2]) / 3; };
    for (const e of document.body.querySelectorAll('*')) {
        const style = getComputedStyle(e), scrolls = /auto|scroll/.test(style.overflowX);
        if (e.scrollWidth > e.clientWidth + 1 && e.clientWidth > 0 && style.display !== 'inline' && !(e instanceof SVGElement)) {
            if (!scrolls) faults.push('cut: ' + name(e));
            else if (!e.previousElementSibling || !e.previousElementSibling.matches('.hint') || box(e.previousElementSibling).height === 0) faults.push('scrolls without a hint: ' + name(e));
        }
        const outer = e.closest('.scroll') || e.parentElement;
        if (e.tagName === 'svg' && !e.closest('.scroll') && box(e).right > box(outer).right + 1) faults.push('wider than its column: ' + name(e));
        if (e.tagName === 'text' && e.closest('svg') && (box(e).right > box(e.closest('svg')).right + 1 || box(e).left < box(e.closest('svg')).left - 1)) faults.push('text over the edge: ' + name(e));
        if (dark && (e.tagName === 'svg' || e.tagName === 'TD') && light(style.backgroundColor) > 140) faults.push('pale: ' + name(e));
        if (dark && e.tagName === 'rect' && e.closest('svg.node, svg.squares') && !/\\bt[0-9]/.test(e.getAttribute('class')) && light(style.fill) > 140) faults.push('pale: ' + name(e));
    }
    return [...new Set(faults)].slice(0, 12);
})()"""


class Browser:
    """One tab of a headless Chromium."""
    def __init__(self, folder):
        program = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
        if program is None:
            raise LeftOut("no Chromium is here (Debian: chromium)")
        (from_us, to_browser), (from_browser, to_us) = os.pipe(), os.pipe()
        command = f'exec "$0" "$@" 3<&{from_us} 4>&{to_us}'
        self.process = subprocess.Popen(["sh", "-c", command, program, "--headless", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe", f"--user-data-dir={folder}"],
                                        pass_fds=(from_us, to_us), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(from_us)
        os.close(to_us)
        self.out, self.into, self.number, self.rest = to_browser, from_browser, 0, b""
        self.session = None
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        self.ask("Page.enable")

    def receive(self):
        while b"\0" not in self.rest:
            piece = os.read(self.into, 1 << 20)
            assert piece, "the browser is gone"
            self.rest += piece
        text, _, self.rest = self.rest.partition(b"\0")
        return json.loads(text)

    def ask(self, method, **parameters):
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters, **({"sessionId": self.session} if self.session else {})}
        os.write(self.out, json.dumps(message).encode() + b"\0")
        while True:
            answer = self.receive()
            if answer.get("id") == self.number:
                assert "error" not in answer, answer
                return answer["result"]

    def open(self, path, width, scheme):
        self.ask("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=width < 600)
        self.ask("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        self.ask("Page.navigate", url=f"file://{path}")
        while self.value("document.readyState") != "complete" or self.value("location.protocol") != "file:":
            pass

    def value(self, expression):
        return self.ask("Runtime.evaluate", expression=expression, returnByValue=True)["result"].get("value")

    def end(self):
        self.process.kill()
        self.process.wait()
        os.close(self.out)
        os.close(self.into)


def node_of(name, folder):
    """A folder of a node, while it is used; degraded: one whose gpu2 is slow with the host."""
    def slow(record):
        return 0.5 if record.get("metric") == "host_gpu_copy_engine" and "gpu2" in (record["from"], record["to"]) else 1

    if name == "degraded":
        return recorded_but("h200x4", {"gpu2": {"pcie_width": 8}}, slow)
    return contextlib.nullcontext(NODES / name if (NODES / name).exists() else Hives([8] * 8).write(pathlib.Path(folder) / name, pairs=4))


def write_report(name, folder, page):
    with node_of(name, folder) as node:
        subprocess.run([BIN / "berth", "--node", node, "report", "-o", page], check=True)


def write_fleet(name, folder, page):
    """40 drawn nodes, every fourth with the driver 580, which makes its gpu1 slow; two pairs are slow by themselves."""
    nodes = pathlib.Path(folder) / name
    nodes.mkdir()
    faults = {4 * i: drawn.Fault(0.06, ("gpu1",)) for i in range(10)} | {7: drawn.Fault(0.3, ("gpu0", "gpu2")), 9: drawn.Fault(0.05, ("gpu1", "gpu3"))}
    archive(nodes / "all.tar", faults.get if name == "fleet" else {}, nodes=40, software=lambda i: {"driver": "570.1" if i % 4 else "580.2", "kernel": "6.8"})
    if name == "names-fleet":
        for i in range(5):
            record = nodes / ("rack-7-chassis-11-slot-3." * 5 + str(i))
            record.mkdir()
            for file, text in drawn.files(SERIES, record.name, drawn.draw_node(SERIES, i, drawn.Fault(0.4, ("gpu0",))), {"driver": "570.1"}).items():
                (record / file).write_text(text)
    subprocess.run([BIN / "berth", "fleet", "-o", page, nodes], check=True, stdout=subprocess.DEVNULL)


def pages_fit_and_are_drawn():
    kept = os.environ.get("SCREENSHOTS")  # a folder where they stay
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:  # the browser still writes while it ends
        browser = Browser(folder + "/profile")
        try:
            for name in REPORTS + FLEETS:
                page = pathlib.Path(folder) / f"{name}.html"
                (write_fleet if name in FLEETS else write_report)(name, folder, page)
                for width, scheme in VIEWS:
                    browser.open(page, width, scheme)
                    seen = (name, width, scheme)
                    beyond = browser.value(f"[...document.body.querySelectorAll('*')].filter(e => !e.closest('.scroll') && e.getBoundingClientRect().right > {width}).map(e => e.tagName + ': ' + e.textContent.slice(0, 60)).slice(0, 5)")
                    assert browser.value("document.documentElement.scrollWidth") <= width, (seen, beyond)
                    faults = browser.value(FAULTS)
                    assert faults == [], (seen, faults)
                    tall = browser.value("Math.max(0, ...[...document.querySelectorAll('table.facts tr')].map(e => e.getBoundingClientRect().height))")
                    assert tall < 500, (seen, tall)
                    small = browser.value("[...document.querySelectorAll('svg')].filter(e => !e.closest('.key') && e.getBoundingClientRect().width < 60 || e.getBoundingClientRect().height < 4).length")
                    assert small == 0 and browser.value("document.querySelectorAll('svg').length") > 0, (seen, small)
                    ink, paper = (browser.value(f"getComputedStyle(document.body).{key}") for key in ("color", "backgroundColor"))
                    light = [sum(int(part) for part in colour[4:-1].split(",")[:3]) for colour in (ink, paper)]
                    assert (light[0] < light[1]) == (scheme == "light") and abs(light[0] - light[1]) > 380, (seen, ink, paper)
                    shot = base64.b64decode(browser.ask("Page.captureScreenshot", format="png", captureBeyondViewport=True)["data"])
                    assert shot.startswith(b"\x89PNG") and len(shot) > 20000, (seen, len(shot))
                    if kept:
                        (pathlib.Path(kept) / f"{name}-{width}-{scheme}.png").write_bytes(shot)
        finally:
            browser.end()


if __name__ == "__main__":
    sys.exit(run_tests([pages_fit_and_are_drawn]) > 0)
