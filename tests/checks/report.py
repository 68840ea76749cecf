#!/usr/bin/env python3
"""The page of `isobit compare --report` in a browser: one file without network or script, on a phone and on a desk, light and
dark: what it says, that nothing overflows, what a screen reader hears, what the keyboard reaches. Screenshots: build/report/."""
import base64
import html.parser
import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = str(ROOT / "build" / "release" / "isobit")
CHROMIUM = next((p for p in map(shutil.which, ("chromium", "chromium-browser", "google-chrome")) if p), None)
SHOTS = ROOT / "build" / "report"
POLICIES = ["fast", "balanced", "default"]


def make_report(folder, *words):
    path = folder / "report.html"
    result = subprocess.run([PROGRAM, "compare", "vision", "--model", "cnn", "--data", "synthetic", "--batch-size", "16", "--steps", "24",
                             "--policies", ",".join(POLICIES), "--eval-limit", "64", "--quiet", "--report", str(path), *words],
                            capture_output=True, text=True, timeout=300)
    if result.returncode:
        raise RuntimeError(result.stderr)
    return path


class Browser:
    """Chromium over its debugging pipe: JSON messages that end in a zero byte, on descriptors 3 and 4."""

    def __init__(self, folder):
        self.to_read, self.to = os.pipe()
        self.from_, self.from_write = os.pipe()

        def wire():
            os.dup2(self.to_read, 103), os.dup2(self.from_write, 104)
            os.dup2(103, 3), os.dup2(104, 4)

        self.process = subprocess.Popen([CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars",
                                         "--force-color-profile=srgb", f"--user-data-dir={folder}", "--remote-debugging-pipe", "about:blank"],
                                        preexec_fn=wire, close_fds=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(self.to_read), os.close(self.from_write)
        self.n, self.session, self.rest = 0, None, b""
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        self.requests = []
        for domain in ("Page", "Network", "Runtime", "Log"):
            self.call(domain + ".enable")

    def receive(self):
        while b"\0" not in self.rest:
            more = os.read(self.from_, 1 << 16)
            if not more:
                raise RuntimeError("the browser ended")
            self.rest += more
        message, self.rest = self.rest.split(b"\0", 1)
        return json.loads(message)

    def call(self, method, **parameters):
        self.n += 1
        message = {"id": self.n, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.to, json.dumps(message).encode() + b"\0")
        while True:
            answer = self.receive()
            if answer.get("method") == "Network.requestWillBeSent":
                self.requests.append(answer["params"]["request"]["url"])
            if answer.get("id") == self.n:
                if "error" in answer:
                    raise RuntimeError(answer["error"])
                return answer["result"]

    def open(self, path, width, height, scheme):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600)
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        self.call("Page.navigate", url=path.as_uri())
        while self.evaluate("document.readyState") != "complete":
            pass

    def evaluate(self, expression):
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        if "exceptionDetails" in result:
            raise RuntimeError(result["exceptionDetails"])
        return result["result"].get("value")

    def screenshot(self, path):
        picture = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=True)
        path.write_bytes(base64.b64decode(picture["data"]))

    def close(self):
        self.process.kill()
        self.process.wait()
        os.close(self.to), os.close(self.from_)


class Balance(html.parser.HTMLParser):
    """Every element that is opened is closed, in order; ids are unique."""
    VOID = {"meta", "br", "path", "line", "circle", "rect", "polyline"}

    def __init__(self):
        super().__init__()
        self.open, self.ids, self.tags = [], set(), set()

    def handle_starttag(self, tag, attributes):
        self.tags.add(tag)
        for name, value in attributes:
            if name == "id":
                assert value not in self.ids, value
                self.ids.add(value)
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        if tag not in self.VOID:
            assert self.open.pop() == tag, (tag, self.getpos())


class File(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        cls.text = make_report(pathlib.Path(cls.folder.name)).read_text()

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def test_well_formed_without_network_or_script(self):
        page = Balance()
        page.feed(self.text)
        self.assertEqual(page.open, [])
        self.assertFalse(page.tags & {"script", "link", "img", "iframe", "object"})
        self.assertEqual(re.findall(r"""(?:src|href|url)\s*[=(]\s*["']?(?!#)[^"'>]+""", self.text), [])
        self.assertIn("default-src 'none'", self.text)
        self.assertNotRegex(self.text, r">-?nan|>-?inf|=\"-?nan|[ ,\"]nan[ ,\"]")

    def test_says_what_was_found(self):
        for text in ("promises the same bits and gave them: all 24 steps agree", "does not promise the same bits", "Against fast",
                     "conv2d.fwd", "runs (", "isobit_version", "policy default"):
            self.assertIn(text, self.text)
        for policy in POLICIES:
            self.assertIn(policy, self.text)
        self.assertEqual(self.text.count("<polyline"), 2 * len(POLICIES))

    def test_text_from_outside_is_escaped(self):
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
            odd = pathlib.Path(folder) / "<b onload='x'>&amp;"
            odd.mkdir()
            text = make_report(odd).read_text()
            self.assertNotIn("<b onload", text)
            self.assertIn("&lt;b onload=&#39;x&#39;&gt;&amp;amp;", text)

    def test_unwritable(self):
        with self.assertRaisesRegex(RuntimeError, "/no/such/folder/report.html"):
            make_report(pathlib.Path("/no/such/folder"))

    def test_one_policy_and_two_steps(self):
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
            for words in (["--policies", "default", "--steps", "2"], ["--policies", "fast", "--steps", "2"],
                          ["--policies", "plain,fast,default", "--steps", "3", "--plain-steps", "2", "--batch-size", "2"]):
                page = Balance()
                page.feed(make_report(pathlib.Path(folder), *words).read_text())
                self.assertEqual(page.open, [])


@unittest.skipUnless(CHROMIUM, "chromium is not installed")
class Page(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        folder = pathlib.Path(cls.folder.name)
        cls.path = make_report(folder)
        cls.browser = Browser(folder / "profile")
        SHOTS.mkdir(parents=True, exist_ok=True)

    @classmethod
    def tearDownClass(cls):
        cls.browser.close()
        cls.folder.cleanup()

    def test_layout(self):
        for width, height in ((390, 844), (1280, 800)):
            for scheme in ("light", "dark"):
                with self.subTest(width=width, scheme=scheme):
                    self.browser.open(self.path, width, height, scheme)
                    self.browser.screenshot(SHOTS / f"{width}-{scheme}.png")
                    self.browser.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
                    self.assertLessEqual(self.browser.evaluate("document.documentElement.scrollWidth"), width)
                    # Nothing that is not inside a region of its own reaches over the edge.
                    self.assertEqual(self.browser.evaluate(
                        "[...document.body.querySelectorAll('*')].filter(e => !e.closest('.scroll,thead,.skip') && "
                        "e.getBoundingClientRect().right > innerWidth + 1).map(e => e.outerHTML.slice(0, 80))"), [])
                    # Text is large enough to read, in figures too.
                    self.assertEqual(self.browser.evaluate(
                        "[...document.querySelectorAll('svg text')].filter(t => t.getBoundingClientRect().height < 11).length"), 0)
                    paper = self.browser.evaluate("getComputedStyle(document.body).backgroundColor")
                    self.assertEqual(paper == "rgb(255, 255, 255)", scheme == "light", paper)

    def test_contrast(self):
        """WCAG AA, 4.5 to 1, for every text colour on what lies behind it."""
        measure = """(() => {
          const light = c => { const [r, g, b] = c.match(/[\\d.]+/g).map(Number).map(v => v / 255).map(
              v => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4); return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
          const behind = e => { for (; e; e = e.parentElement) { const c = getComputedStyle(e).backgroundColor;
              if (!/, 0\\)$/.test(c)) return c; } };
          let least = 99;
          for (const e of document.querySelectorAll('h1,h2,h3,p,li,a,th,td,small,code,summary,caption,figcaption,dt,dd,svg text')) {
            const s = getComputedStyle(e), a = light(e.closest('svg') ? s.fill : s.color), b = light(behind(e));
            least = Math.min(least, (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05));
          }
          return least; })()"""
        for width in (390, 1280):
            for scheme in ("light", "dark"):
                self.browser.open(self.path, width, 800, scheme)
                self.assertGreaterEqual(self.browser.evaluate(measure), 4.5, (width, scheme))

    def test_what_a_screen_reader_hears(self):
        for width in (390, 1280):
            self.browser.open(self.path, width, 800, "light")
            self.browser.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
            nodes = [n for n in self.browser.call("Accessibility.getFullAXTree")["nodes"] if not n.get("ignored")]

            def named(role):
                return [n.get("name", {}).get("value", "") for n in nodes if n["role"]["value"] == role]

            self.assertEqual(len([n for n in nodes if n["role"]["value"] == "heading" and
                                  {"name": "level", "value": {"type": "integer", "value": 1}} in n["properties"]]), 1)
            for role in ("table", "region", "navigation", "heading", "link"):
                self.assertTrue(named(role), role)
                self.assertNotIn("", named(role), role)
            pictures = named("image") + named("img") + named("graphics-document")
            self.assertEqual(sorted(p for p in pictures if p), ["Distribution of step times by policy", "Loss by step, all runs"])
            self.assertIn("Policy", named("columnheader"))
            self.assertTrue(any(h.startswith("default") for h in named("rowheader")))
            self.assertIn("main", [n["role"]["value"] for n in nodes])

    def test_the_keyboard_reaches_and_unfolds(self):
        self.browser.open(self.path, 1280, 800, "light")
        seen = []
        for _ in range(200):
            for kind in ("keyDown", "keyUp"):
                self.browser.call("Input.dispatchKeyEvent", type=kind, key="Tab", code="Tab", windowsVirtualKeyCode=9)
            seen.append(self.browser.evaluate("document.activeElement.tagName + ' ' + document.activeElement.className"))
            if len(seen) > 5 and seen[-1].startswith("BODY"):
                break
        self.assertEqual(seen[0], "A skip")
        self.assertIn("DIV scroll", seen)
        self.assertEqual(seen.count("SUMMARY "), self.browser.evaluate("[...document.querySelectorAll('summary')].filter(s => s.checkVisibility()).length"))
        self.browser.evaluate("document.querySelector('summary').focus()")
        for kind in ("keyDown", "keyUp"):
            self.browser.call("Input.dispatchKeyEvent", type=kind, key="Enter", code="Enter", windowsVirtualKeyCode=13, text="\r")
        self.assertTrue(self.browser.evaluate("document.querySelector('details').open"))

    def test_asks_the_network_for_nothing(self):
        self.browser.requests.clear()
        self.browser.open(self.path, 1280, 800, "light")
        self.browser.evaluate("document.title")
        self.assertEqual([u for u in self.browser.requests if not u.startswith("file:")], [])
        self.assertLessEqual(len(self.browser.requests), 1)


if __name__ == "__main__":
    unittest.main()
