"""A reader's browser without a page: the store of answers in a JavaScript engine."""

import json
from typing import Any

from live.bundler import bundler
from py_mini_racer import MiniRacer
from questions.scripts import MODULES

#: What a browser keeps: it can be forbidden to, be full, or be written by another tab.
BROWSER = """
const kept = new Map();
let allowed = true, room = Infinity;
globalThis.localStorage = {
  getItem(key) {
    if (!allowed) throw new Error("SecurityError");
    return kept.has(key) ? kept.get(key) : null;
  },
  setItem(key, text) {
    if (!allowed) throw new Error("SecurityError");
    if (text.length > room) throw Object.assign(new Error("full"), { name: "QuotaExceededError" });
    kept.set(key, text);
  },
};
const heard = [];
globalThis.addEventListener = (name, listener) => heard.push(listener);
"""


class Reader:
    """Calls a module's functions with values of Python; what they return comes back as one."""

    def __init__(self) -> None:
        self.engine = MiniRacer()
        self.engine.eval(BROWSER + bundler(MODULES).script(["questions/store", "questions/along"]))

    def call(self, name: str, *arguments: Any, module: str = "store") -> Any:
        written = ", ".join(json.dumps(each) for each in arguments)
        function = f'attentionBookLive.modules["questions/{module}"].{name}'
        return json.loads(self.engine.eval(f"JSON.stringify({function}({written}) ?? null)"))

    def run(self, script: str) -> None:
        self.engine.eval(script + "; void 0")

    def progress(self) -> Any:
        return self.call("progress")

    def stored(self) -> Any:
        """What another tab, or a later visit, finds."""
        text = self.engine.eval('kept.get("attention-book-questions") ?? "null"')
        return json.loads(str(text))

    def tell_tabs(self) -> None:
        self.run('heard.forEach((each) => each({ key: "attention-book-questions" }))')

    def close(self) -> None:
        self.engine.close()
