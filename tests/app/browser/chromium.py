"""Drives a headless Chromium over its debugging pipe. The module needs only the Python standard library."""
import base64
import fcntl
import json
import os
import select
import shutil
import subprocess
import tempfile
import time


class Chromium:
    """A context manager for one page. `messages` is the page's console output."""

    def __init__(self, width=1600, height=900, scale=1, flags=()):
        self.program = next((found for name in ("chromium", "chromium-browser", "google-chrome") if (found := shutil.which(name))), None)
        if self.program is None:
            raise FileNotFoundError("no chromium")
        self.width, self.height, self.scale, self.flags = width, height, scale, flags
        self.messages, self.number, self.waiting, self.rest = [], 0, {}, b""

    def __enter__(self):
        self.profile = tempfile.mkdtemp(prefix="sluice-chromium-")
        to_read, self.to = os.pipe()
        self.from_, to_write = os.pipe()
        # The browser uses its descriptors 3 and 4 for the pipe.
        words = [self.program, "--headless=new", "--no-sandbox", "--remote-debugging-pipe", "--use-gl=angle", "--use-angle=swiftshader",
                 "--enable-unsafe-swiftshader", "--hide-scrollbars", "--no-first-run", f"--user-data-dir={self.profile}",
                 f"--window-size={self.width},{self.height}", *self.flags, "about:blank"]
        def connect():
            read, write = (fcntl.fcntl(each, fcntl.F_DUPFD, 10) for each in (to_read, to_write))  # Either may be 3 or 4.
            os.dup2(read, 3)
            os.dup2(write, 4)
            os.close(read)
            os.close(write)
        self.process = subprocess.Popen(words, preexec_fn=connect, close_fds=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(to_read)
        os.close(to_write)
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")
        self.call("Emulation.setDeviceMetricsOverride", width=self.width, height=self.height, deviceScaleFactor=self.scale, mobile=False)
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        os.close(self.to)
        os.close(self.from_)
        shutil.rmtree(self.profile, ignore_errors=True)

    def call(self, method, **parameters):
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if hasattr(self, "session"):
            message["sessionId"] = self.session
        os.write(self.to, json.dumps(message).encode() + b"\0")
        while True:
            answer = self.receive(60)
            if answer is None:
                raise TimeoutError(method)
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error'].get('message')}")
                return answer["result"]

    def receive(self, seconds):
        """Returns the next message, or None. Collects console messages."""
        until = time.monotonic() + seconds
        while b"\0" not in self.rest:
            ready, _, _ = select.select([self.from_], [], [], max(0, until - time.monotonic()))
            if not ready:
                return None
            got = os.read(self.from_, 1 << 20)
            if not got:
                raise EOFError("the browser has ended")
            self.rest += got
        text, self.rest = self.rest.split(b"\0", 1)
        message = json.loads(text)
        of = message.get("params", {})
        if message.get("method") == "Runtime.consoleAPICalled":
            self.messages.append(" ".join(str(each.get("value", each.get("description", ""))) for each in of["args"]))
        elif message.get("method") == "Runtime.exceptionThrown":
            details = of["exceptionDetails"]
            self.messages.append(details.get("exception", {}).get("description", details["text"]))
        elif message.get("method") == "Log.entryAdded":
            self.messages.append(f"{of['entry']['text']} {of['entry'].get('url', '')}")
        return message

    def open(self, address):
        self.call("Page.navigate", url=address)

    def value(self, expression):
        found = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in found:
            raise RuntimeError(found["exceptionDetails"].get("exception", {}).get("description", "failed: " + expression))
        return found["result"].get("value")

    def wait_for(self, expression, seconds):
        """Waits until the expression is true; returns the seconds that it took, or None."""
        begin = time.monotonic()
        while time.monotonic() - begin < seconds:
            if self.value(expression):
                return time.monotonic() - begin
            time.sleep(0.05)
        return None

    def picture(self, path):
        with open(path, "wb") as file:
            file.write(base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"]))

    def mouse(self, kind, x, y, **more):
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, **more)

    def click(self, x, y):
        self.mouse("mouseMoved", x, y)
        self.mouse("mousePressed", x, y, button="left", clickCount=1)
        self.mouse("mouseReleased", x, y, button="left", clickCount=1)

    def drop(self, paths, x, y):
        """Drops local files on the page."""
        data = {"items": [], "files": [os.path.abspath(path) for path in paths], "dragOperationsMask": 1}
        for kind in ("dragEnter", "dragOver", "drop"):
            self.call("Input.dispatchDragEvent", type=kind, x=x, y=y, data=data)

    def downloads_to(self, folder):
        self.call("Browser.setDownloadBehavior", behavior="allow", downloadPath=os.path.abspath(folder))
