# SPDX-License-Identifier: GPL-2.0-or-later
"""Headless Chromium over the DevTools protocol: a page, its console, its requests, its keys.

Speaks through ``--remote-debugging-pipe`` (JSON messages ended by a zero byte on descriptors 3
and 4), so it needs neither a driver program nor a library.
https://chromedevtools.github.io/devtools-protocol/
"""

from __future__ import annotations

import base64
import fcntl
import json
import os
import select
import subprocess
import tempfile
import time
from pathlib import Path
from types import TracebackType
from typing import Any, Self

FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--disable-dev-shm-usage", "--remote-debugging-pipe", "--window-size=1200,1600",
)  # fmt: skip

KEYS = {"Tab": 9, "Enter": 13, "Escape": 27, "Space": 32}


class Chromium:
    """A browser with one page. ``problems`` are console errors, warnings and exceptions."""

    def __init__(self, program: str) -> None:
        self.problems: list[str] = []
        self.requests: list[str] = []
        self._profile = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        self._buffer = b""
        self._last = 0
        self._session: str | None = None
        browser_reads, self._write = os.pipe()
        self._read, browser_writes = os.pipe()
        ends = [fcntl.fcntl(end, fcntl.F_DUPFD, 100) for end in (browser_reads, browser_writes)]

        def place_ends() -> None:
            os.dup2(ends[0], 3)
            os.dup2(ends[1], 4)

        self._process = subprocess.Popen(
            [program, *FLAGS, f"--user-data-dir={self._profile.name}", "about:blank"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            preexec_fn=place_ends,
            pass_fds=(3, 4),
        )
        for end in (browser_reads, browser_writes, *ends):
            os.close(end)
        self._attach()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._process.terminate()
        try:
            self._process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        os.close(self._read)
        os.close(self._write)
        self._profile.cleanup()

    def open(self, path: Path) -> None:
        """Opens a file and waits until the page's scripts have run."""
        self.call("Page.navigate", url=path.resolve().as_uri())
        self.wait("document.documentElement?.dataset.ready === ''")

    def run(self, expression: str) -> Any:
        """The JSON value of a JavaScript expression in the page."""
        answer = self.call(
            "Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True
        )
        if "exceptionDetails" in answer:
            raise AssertionError(f"{expression}: {answer['exceptionDetails']}")
        return answer["result"].get("value")

    def wait(self, expression: str, seconds: float = 30) -> None:
        """Until a JavaScript expression is true."""
        end = time.monotonic() + seconds
        while not self._is_true(expression):
            if time.monotonic() > end:
                raise AssertionError(f"not true within {seconds:g} s: {expression}")
            time.sleep(0.05)

    def _is_true(self, expression: str) -> bool:
        """Whether it is so by now; it is not while the page gives way to another one."""
        try:
            return self.run(expression) is True
        except AssertionError as error:
            if "navigated or closed" in str(error) or "context was destroyed" in str(error):
                return False
            raise

    def click(self, selector: str) -> None:
        """Clicks into the middle of an element with the mouse."""
        self.run(f"document.querySelector({json.dumps(selector)}).scrollIntoView()")
        box = self.run(
            f"(r => [r.x + r.width / 2, r.y + r.height / 2])"
            f"(document.querySelector({json.dumps(selector)}).getBoundingClientRect())"
        )
        for kind in ("mousePressed", "mouseReleased"):
            self.call(
                "Input.dispatchMouseEvent",
                type=kind, x=box[0], y=box[1], button="left", clickCount=1,
            )  # fmt: skip

    def press(self, key: str) -> None:
        """Presses a key of `KEYS`."""
        text = {"Enter": "\r", "Space": " "}.get(key)
        name = " " if key == "Space" else key
        for kind in ("keyDown", "keyUp"):
            extra = {"text": text} if text and kind == "keyDown" else {}
            self.call(
                "Input.dispatchKeyEvent",
                type=kind, key=name, code=key, windowsVirtualKeyCode=KEYS[key], **extra,
            )  # fmt: skip

    def type(self, text: str) -> None:
        """Types into the element that has the focus."""
        self.call("Input.insertText", text=text)

    def emulate(self, *, media: str = "", scheme: str = "light") -> None:
        """Sets the medium (`print`, `screen`) and the preferred colour scheme."""
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self.call("Emulation.setEmulatedMedia", media=media, features=features)

    def screenshot(self, path: Path) -> None:
        """Saves a PNG of the whole page."""
        answer = self.call("Page.captureScreenshot", captureBeyondViewport=True)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(base64.b64decode(answer["data"]))

    def print_pdf(self) -> bytes:
        """The page as it prints."""
        return base64.b64decode(self.call("Page.printToPDF")["data"])

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """One command of the protocol and its answer."""
        self._last += 1
        message: dict[str, Any] = {"id": self._last, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._receive(60)
            if answer.get("id") == self._last:
                if "error" in answer:
                    raise AssertionError(f"{method}: {answer['error']}")
                return dict(answer["result"])
            self._note(answer)

    def _attach(self) -> None:
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        attached = self.call("Target.attachToTarget", targetId=target, flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def _receive(self, seconds: float) -> dict[str, Any]:
        while b"\0" not in self._buffer:
            ready, _, _ = select.select([self._read], [], [], seconds)
            data = os.read(self._read, 1 << 20) if ready else b""
            if not data:
                raise AssertionError("Chromium does not answer")
            self._buffer += data
        message, _, self._buffer = self._buffer.partition(b"\0")
        return dict(json.loads(message))

    def _note(self, event: dict[str, Any]) -> None:
        details = event.get("params", {})
        match event.get("method"):
            case "Runtime.exceptionThrown":
                self.problems.append(json.dumps(details["exceptionDetails"]))
            case "Runtime.consoleAPICalled" if details["type"] in ("error", "warning", "assert"):
                self.problems.append(json.dumps(details["args"]))
            case "Log.entryAdded" if details["entry"]["level"] in ("error", "warning"):
                self.problems.append(json.dumps(details["entry"]))
            case "Network.requestWillBeSent":
                self.requests.append(details["request"]["url"])
