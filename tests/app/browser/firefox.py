"""Drives Firefox on a private screen over WebDriver BiDi. The module needs only the Python standard library."""
import base64
import json
import os
import re
import select
import shutil
import socket
import struct
import subprocess
import tempfile
import time


class WebSocket:
    """A WebSocket client connection (RFC 6455) for text messages only."""

    def __init__(self, port, path):
        self.socket = socket.create_connection(("127.0.0.1", port))
        key = base64.b64encode(os.urandom(16)).decode()
        self.socket.sendall(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                            f"Sec-WebSocket-Key: {key}\r\nSec-WebSocket-Version: 13\r\n\r\n".encode())
        self.rest = b""
        while b"\r\n\r\n" not in self.rest:
            self.fill()
        head, self.rest = self.rest.split(b"\r\n\r\n", 1)
        if b" 101 " not in head.split(b"\r\n")[0]:
            raise ConnectionError(head.decode(errors="replace"))

    def fill(self):
        got = self.socket.recv(1 << 20)
        if not got:
            raise EOFError("the browser has ended")
        self.rest += got

    def take(self, count):
        while len(self.rest) < count:
            self.fill()
        taken, self.rest = self.rest[:count], self.rest[count:]
        return taken

    def send(self, text, kind=1):
        data, mask = text if isinstance(text, bytes) else text.encode(), os.urandom(4)
        size = bytes([0x80 | len(data)]) if len(data) < 126 else b"\xfe" + struct.pack(">H", len(data)) if len(data) < 65536 else b"\xff" + struct.pack(">Q", len(data))
        self.socket.sendall(bytes([0x80 | kind]) + size + mask + bytes(each ^ mask[i % 4] for i, each in enumerate(data)))

    def receive(self, seconds):
        """Returns the next message, or None."""
        whole = b""
        while True:
            if len(self.rest) < 2 and not select.select([self.socket], [], [], seconds)[0]:
                return None
            first, second = self.take(2)
            size = second & 127
            if size == 126:
                size, = struct.unpack(">H", self.take(2))
            elif size == 127:
                size, = struct.unpack(">Q", self.take(8))
            data, kind = self.take(size), first & 15
            if kind == 9:
                self.send(data, 10)
            elif kind == 8:
                raise EOFError("the browser has ended")
            elif kind in (0, 1):
                whole += data
                if first & 0x80:
                    return whole.decode()


class Firefox:
    """A context manager for one page, as in chromium.py. Downloads go to `folder`."""

    def __init__(self, width=1600, height=900, folder=None):
        self.program = next((found for name in ("firefox-esr", "firefox") if (found := shutil.which(name))), None)
        if self.program is None:
            raise FileNotFoundError("no firefox")
        if shutil.which("Xvfb") is None:
            raise FileNotFoundError("no Xvfb")
        self.width, self.height, self.folder = width, height, folder
        self.messages, self.number = [], 0

    def __enter__(self):
        self.profile = tempfile.mkdtemp(prefix="sluice-firefox-")
        settings = {"browser.download.folderList": 2, "browser.download.dir": self.folder or self.profile, "browser.download.useDownloadDir": True,
                    "browser.download.always_ask_before_handling_new_types": False, "browser.shell.checkDefaultBrowser": False,
                    "datareporting.policy.dataSubmissionEnabled": False, "webgl.force-enabled": True}
        with open(os.path.join(self.profile, "user.js"), "w") as file:
            file.writelines(f"user_pref({json.dumps(name)}, {json.dumps(value)});\n" for name, value in settings.items())
        # A headless Firefox has no WebGL.
        self.screen = subprocess.Popen(["Xvfb", "-displayfd", "1", "-screen", "0", f"{self.width}x{self.height + 200}x24", "-nolisten", "tcp"],
                                       stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.display = ":" + self.screen.stdout.readline().strip()
        environment = {**os.environ, "HOME": self.profile, "DISPLAY": self.display}
        self.process = subprocess.Popen([self.program, "--no-remote", "--profile", self.profile, "--remote-debugging-port", "0", "about:blank"],
                                        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=environment)
        said = ""
        while not (found := re.search(r"WebDriver BiDi listening on ws://127\.0\.0\.1:(\d+)", said)):
            line = self.process.stderr.readline()
            if not line:
                raise EOFError(said)
            said += line
        os.set_blocking(self.process.stderr.fileno(), False)
        self.socket = WebSocket(int(found.group(1)), "/session")
        self.call("session.new", capabilities={})
        self.call("session.subscribe", events=["log.entryAdded"])
        self.context = self.call("browsingContext.getTree")["contexts"][0]["context"]
        self.call("browsingContext.setViewport", context=self.context, viewport={"width": self.width, "height": self.height})
        return self

    def __exit__(self, *_):
        for each in (self.process, self.screen):
            each.kill()
            each.wait()
        shutil.rmtree(self.profile, ignore_errors=True)

    def call(self, method, **parameters):
        self.number += 1
        self.socket.send(json.dumps({"id": self.number, "method": method, "params": parameters}))
        while True:
            text = self.socket.receive(60)
            if text is None:
                raise TimeoutError(method)
            answer = json.loads(text)
            if answer.get("method") == "log.entryAdded" and answer["params"]["level"] == "error":
                self.messages.append(answer["params"]["text"])
            if answer.get("id") == self.number:
                if answer["type"] == "error":
                    raise RuntimeError(f"{method}: {answer['error']}: {answer['message']}")
                return answer["result"]

    def open(self, address):
        self.call("browsingContext.navigate", context=self.context, url=address, wait="none")

    def value(self, expression):
        found = self.call("script.evaluate", expression=expression, target={"context": self.context}, awaitPromise=True)
        if found["type"] != "success":
            raise RuntimeError(found["exceptionDetails"]["text"])
        return found["result"].get("value")

    def wait_for(self, expression, seconds):
        """Waits until the expression is true; returns the seconds that it took, or None."""
        begin = time.monotonic()
        while time.monotonic() - begin < seconds:
            try:
                if self.value(expression):
                    return time.monotonic() - begin
            except RuntimeError:
                pass  # The page is navigating away.
            time.sleep(0.05)
        return None

    def picture(self, path):
        with open(path, "wb") as file:
            file.write(base64.b64decode(self.call("browsingContext.captureScreenshot", context=self.context)["data"]))

    def downloads_to(self, folder):
        if folder != self.folder:
            raise ValueError("said when it was made")
