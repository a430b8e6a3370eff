# ruff: noqa: E501 (a cell stands on its line)
"""What a notebook may hold, and what must come of it: attacks on the grader.

An attack is a list of cells. `GOOD` and `BAD` are a right and a wrong answer: after each attack the
grader must still say so of those that follow. Nothing here forks more than fifty times.
"""

import os
import tempfile
from dataclasses import dataclass, field

GOOD = """
import torch
from attention_book.course.exercises import check
def pool(scores, values):
    return scores.softmax(dim=-1) @ values
check("attention-pooling", pool)
"""
BAD = """
import torch
from attention_book.course.exercises import check
check("attention-pooling", lambda scores, values: scores @ values)
"""
OWNED = os.path.join(tempfile.gettempdir(), "owned")
#: What a fair answer to another exercise looks like.
FAIR = """
import torch
from attention_book.course.exercises import check
check("softmax-backward", lambda a, g: a * (g - (a * g).sum(-1, keepdim=True)))
"""


@dataclass
class Attack:
    """Cells, and what is expected of the answers handed in (None: not handed in)."""

    name: str
    cells: list[str]
    passed: dict[str, bool | None] = field(default_factory=dict)
    says: str = ""  # found in the results' texts, errors, remarks or output
    never: str = ""  # found nowhere
    seconds: float = 60
    also: tuple[str, ...] = ()  # paths that must not exist afterwards

    @property
    def quick(self) -> bool:
        """Whether it is tried in every run of the tests: one of each kind, none that waits long."""
        return self.name in QUICK


def answer(body, name="attention-pooling", head=""):
    """Return a cell whose answer does something before it returns the wrong thing."""
    lines = "\n".join("    " + line for line in body.strip().splitlines())
    return f"""
import os, sys, time, torch
from attention_book.course.exercises import check
{head}
def pool(scores, values):
{lines}
check({name!r}, pool)
"""


QUICK = (
    "sys.exit in an answer",
    "os._exit in a cell",
    "endless loop that catches all",
    "forks",
    "clone by system call",
    "writes elsewhere",
    "reads another's notebook",
    "sockets",
    "solution imported from the registry",
    "solution taken from the book",
    "walk through gc and frames",
    "the session replaced",
    "garbage to the parent",
    "pickle bomb as a result",
    "always equal",
    "a bool with a third value",
    "a table of the usual inputs",
    "a handed function given much",
    "magics",
    "an answer that raises what ends a conversation",
    "its own memory and descriptors",
    "priority, processors, a clock of its own",
)
P, S = "attention-pooling", "softmax-backward"
ATTACKS = [
    # --- ends ------------------------------------------------------------------------------
    Attack("sys.exit in an answer", [answer("sys.exit(0)"), FAIR], {P: False, S: True}, "SystemExit"),
    Attack("sys.exit in a cell", ["import sys; sys.exit(0)", FAIR], {S: True}, "SystemExit"),
    Attack("os._exit in an answer", [answer("os._exit(0)"), FAIR], {P: False, S: True}, "ended"),
    Attack("os._exit in a cell", ["import os; os._exit(0)", FAIR], {S: True}, "ended"),
    Attack("os.abort", [answer("os.abort()"), FAIR], {P: False, S: True}, "ended"),
    Attack("segfault by ctypes", [answer("import ctypes; ctypes.string_at(0)"), FAIR],
           {P: False, S: True}, "ended"),
    Attack("kills itself", [answer("import signal; os.kill(os.getpid(), signal.SIGKILL)"), FAIR],
           {P: False, S: True}, "ended"),
    Attack("kills the parent",
           [answer("import signal\nfor pid in (os.getppid(), 1, -1):\n    try: os.kill(pid, 9)\n"
                   "    except OSError as e: print('refused', e)\nreturn None"), FAIR],
           {P: False, S: True}),
    Attack("endless recursion", [answer("return pool(scores, values)"), FAIR],
           {P: False, S: True}, "RecursionError"),
    Attack("recursion in C",
           [answer("sys.setrecursionlimit(10**8)\nx = []\nfor _ in range(10**6): x = [x]\n"
                   "return repr(x)"), FAIR], {P: False, S: True}),
    # --- time ------------------------------------------------------------------------------
    Attack("endless loop in an answer", [answer("while True: pass"), FAIR],
           {P: False, S: True}, "no end within"),
    Attack("endless loop in a cell", ["while True: pass", FAIR], {S: True}, "no end within"),
    Attack("endless loop that catches all",
           [answer("while True:\n    try:\n        while True: pass\n    except BaseException: pass"),
            FAIR], {P: False, S: True}, "no end within"),
    Attack("sleeps", [answer("time.sleep(10**6)"), FAIR], {P: False, S: True}, "no end within"),
    Attack("one long C call", [answer("return 10**10**8 % 7"), FAIR], {P: False, S: True}),
    Attack("regular expression without end",
           [answer("import re\nreturn re.match('(a+)+$', 'a' * 60 + 'b')"), FAIR],
           {P: False, S: True}, "no end within"),
    Attack("ignores signals",
           [answer("import signal\nfor n in (2, 15, 14, 24): signal.signal(n, signal.SIG_IGN)\n"
                   "while True: time.sleep(1)"), FAIR], {P: False, S: True}, "no end within"),
    Attack("stops itself", [answer("import signal; os.kill(os.getpid(), signal.SIGSTOP)"), FAIR],
           {P: False, S: True}),
    Attack("time bomb in a thread",
           ["import threading, os\nthreading.Timer(2.5, lambda: os._exit(0)).start()", GOOD,
            "import time; time.sleep(5)", FAIR], {P: True, S: True}),
    Attack("threads that outlive",
           ["import threading, time\ndef spin():\n    while True: time.sleep(.01)\n"
            "for _ in range(20): threading.Thread(target=spin).start()", GOOD, FAIR],
           {P: True, S: True}),
    Attack("right twice, then wrong",
           [answer("n[0] += 1\nreturn scores.softmax(-1) @ values if n[0] < 3 else values",
                   head="n = [0]"), FAIR], {P: False, S: True}),
    Attack("endless checks", ["from attention_book.course.exercises import check\n"
                              "for _ in range(100000): check('attention-pooling', len)", FAIR], {P: False},
           seconds=200),
    # --- processes -------------------------------------------------------------------------
    Attack("forks", [answer("for _ in range(50):\n    try:\n        if os.fork() == 0:\n"
                            "            time.sleep(60); os._exit(0)\n"
                            "    except OSError as e: print('refused', e); break\nreturn None"), FAIR],
           {P: False, S: True}, "refused"),
    Attack("subprocess", [answer("import subprocess\nsubprocess.Popen(['sleep', '60'])"), FAIR],
           {P: False, S: True}, "PermissionError"),
    Attack("os.system", [answer("print('code', os.system('echo here > owned'), os.path.exists('owned'))"), FAIR],
           {P: False, S: True}, "False"),
    Attack("multiprocessing",
           ["import multiprocessing as m\nm.Process(target=print).start()", GOOD], {P: True},
           "PermissionError"),
    Attack("daemon by double fork",
           [answer("if os.fork() == 0:\n    os.setsid()\n    if os.fork() == 0:\n"
                   "        time.sleep(60)\n    os._exit(0)"), FAIR], {P: False, S: True},
           "PermissionError"),
    Attack("clone by system call",
           [answer("import ctypes\nc = ctypes.CDLL(None, use_errno=True)\n"
                   "r = [c.syscall(56, 17, 0, 0, 0, 0), c.syscall(57), c.syscall(58), c.syscall(435, 0, 0)]\n"
                   "print('results', r)"), FAIR], {P: False, S: True}, "results [-1, -1, -1, -1]"),
    Attack("ten thousand threads",
           [answer("import threading\nt = []\nfor _ in range(10**4):\n"
                   "    th = threading.Thread(target=time.sleep, args=(60,)); th.start(); t.append(th)"),
            FAIR], {P: False, S: True}),
    # --- memory, files, output -------------------------------------------------------------
    Attack("huge tensor", [answer("return torch.zeros(10**11)"), FAIR], {P: False, S: True}),
    Attack("memory bit by bit",
           [answer("x = []\nwhile True: x.append(bytearray(10**7))"), FAIR], {P: False, S: True}),
    Attack("memory shared by mmap",
           [answer("import mmap\nx = []\nwhile True:\n    m = mmap.mmap(-1, 10**8); m[::4096] = b'x' * len(range(0, 10**8, 4096)); x.append(m)"),
            FAIR], {P: False, S: True}),
    Attack("10^7 prints", [answer("for i in range(10**7): print(i)\nreturn None"), FAIR],
           {S: True}, " bytes", seconds=120),
    Attack("one print of 300 MB", [answer("print('x' * 3 * 10**8)\nreturn None"), FAIR],
           {P: False, S: True}, " bytes"),
    Attack("large file",
           ["f = open('big', 'wb')\ntry:\n    for _ in range(100): f.write(bytes(10**6)); f.flush()\n"
            "except OSError as e: print('refused', e)", GOOD], {P: True}),
    Attack("many files",
           ["n = 0\ntry:\n    for n in range(200):\n        open(f'f{n}', 'wb').write(bytes(10**6))\n"
            "except OSError as e: print('refused', n, e)", GOOD], {P: True}),
    Attack("many open files",
           ["x = []\ntry:\n    while True: x.append(open('/dev/null'))\n"
            "except OSError as e: print('refused', e); x.clear()", GOOD], {P: True}, "refused"),
    Attack("writes elsewhere",
           [answer(f"p0 = '{OWNED}'\nfor p in ('{OWNED}', '/var/lib/owned', os.path.expanduser('~root/owned'), "
                   "'/dev/shm/owned', sys.prefix + '/owned', torch.__file__, '/etc/passwd'):\n"
                   "    try: open(p, 'a').write('x'); print('WROTE', p) if p not in ('/dev/shm/owned', p0) else None\n"
                   "    except OSError as e: print('refused', p)\nreturn None"), FAIR],
           {P: False, S: True}, "refused", never="WROTE",
           also=(OWNED, "/var/lib/owned", "/dev/shm/owned", "/root/owned")),
    Attack("removes everything", ["!rm -rf / ~", "import shutil; shutil.rmtree('/', ignore_errors=True)", FAIR],
           {S: True}, "not carried out: !rm"),
    Attack("reads another's notebook",
           ["import os\nfor p in OTHERS:\n    try: print('READ', open(p).read()[:20])\n"
            "    except OSError as e: print('refused', type(e).__name__)", GOOD], {P: True}, "refused",
           never="READ"),
    Attack("a link to another's notebook",
           ["import os\nos.symlink(OTHERS[0], 'link')\nprint('READ', open('link').read()[:20])", GOOD],
           {P: True}, never="READ"),
    Attack("leaves by ..", ["import os\nos.chdir('/')\nprint(sorted(os.listdir('/'))[:3])\n"
                            "for _ in range(9): os.chdir('..')\nos.mkdir('owned')", GOOD], {P: True},
           also=("/owned",)),
    Attack("environment, arguments, parent's memory",
           ["import os\nprint('env', sorted(os.environ))\n"
            "for p in ('/proc/1/environ', f'/proc/{os.getppid()}/environ', f'/proc/{os.getppid()}/mem',"
            "          f'/proc/{os.getppid()}/fd'):\n"
            "    try: print('READ' if (os.listdir(p) if p.endswith('fd') else len(open(p, 'rb').read(9))) else '')\n"
            "    except OSError as e: print('refused', type(e).__name__)", GOOD], {P: True}),
    # --- network ---------------------------------------------------------------------------
    Attack("sockets",
           ["import socket\nfor kind in ((2, 1), (2, 2), (10, 1), (1, 1), (16, 3), (17, 3)):\n"
            "    try: s = socket.socket(*kind); print('OPENED', kind)\n"
            "    except OSError as e: print('refused', kind)", GOOD], {P: True}, "refused", never="OPENED"),
    Attack("urlopen", ["import urllib.request\nurllib.request.urlopen('http://127.0.0.1:1/')", GOOD],
           {P: True}, "URLError"),
    # --- the checker -----------------------------------------------------------------------
    Attack("torch.allclose and torch.equal replaced",
           ["import torch\nyes = lambda *a, **k: True\ntorch.allclose = torch.equal = torch.isclose = yes\n"
            "torch.Tensor.allclose = torch.Tensor.equal = yes\ntorch.Tensor.__eq__ = lambda a, b: torch.tensor(True)",
            BAD], {P: False}),
    Attack("builtins replaced",
           ["import builtins\nbuiltins.isinstance = lambda *a: True\nbuiltins.all = builtins.any = lambda x: True\n"
            "builtins.type = lambda *a: int\nbuiltins.len = lambda x: 3", BAD], {}),
    Attack("the random numbers replaced",
           ["import torch, random\ntorch.manual_seed = lambda s: None\ntorch.randn = lambda *a: torch.zeros(a)",
            BAD, FAIR], {P: False, S: True}),
    Attack("solution imported from the registry",
           ["from attention_book.course.exercises import check\n"
            "from attention_book.course.exercises.checking import EXERCISES\n"
            "check('attention-pooling', EXERCISES['attention-pooling'].solution)", FAIR], {P: None, S: True},
           "ModuleNotFoundError"),
    Attack("solution read from the sources",
           ["import os, sys\nfor base in (*sys.path, '/', os.path.dirname(os.__file__)):\n"
            "    for where, _, names in os.walk(base):\n"
            "        if where.count('/') > 9: continue\n"
            "        if 'pooling.py' in names and 'exercises' in where: print('READ', where)", FAIR], {S: True},
           never="READ", seconds=150),
    Attack("solution taken from the book",
           ["from attention_book.course.exercises import check\nfrom attention_book.attention import masked_softmax\n"
            "check('masked-softmax', masked_softmax)"], {"masked-softmax": True},
           "masked_softmax"),
    Attack("walk through gc and frames",
           [answer("import gc, inspect\nfound = [o for o in gc.get_objects() if type(o).__name__ in "
                   "('Exercise', 'Probe', 'Verdict', 'Law')]\n"
                   "f = sys._getframe()\nwhile f:\n    found += [v for k, v in f.f_locals.items() if k in "
                   "('expected', 'right', 'exercise', 'verdict')]\n    f = f.f_back\nprint('FOUND' if found else 'nothing', len(found))"),
            FAIR], {P: False, S: True}, "nothing 0", never="FOUND"),
    Attack("the session replaced",
           ["import attention_book.course.grading.peer as peer\nfrom attention_book.course.grading import session\n"
            "peer.Peer.called = lambda *a: (1, True, [], [])\nsession.current.peer.handlers['call'] = lambda *a: (1, True, [], [])",
            BAD, FAIR], {P: False}),
    Attack("a verdict on standard output",
           ["print('\\u2713 attention-pooling: correct. It passes all 3 checks.')\nimport sys\n"
            "sys.stdout.write('{\"passed\": true}\\n'); sys.stderr.write('passed\\n'); sys.__stdout__.write('1')",
            BAD], {P: False}),
    Attack("words of its own to the parent",
           [answer("for fd in range(3, 40):\n    try: os.write(fd, b'\\x10\\x00\\x00\\x00[\"answer\", true ] ')\n"
                   "    except OSError: pass"), FAIR], {S: True}),
    Attack("garbage to the parent",
           [answer("for fd in range(3, 40):\n    try: os.write(fd, os.urandom(10**5))\n"
                   "    except OSError: pass"), FAIR], {S: True}),
    Attack("a frame of 4 GB announced",
           [answer("for fd in range(3, 40):\n    try: os.write(fd, b'\\xff\\xff\\xff\\xff')\n"
                   "    except OSError: pass"), FAIR], {S: True}),
    Attack("closes all files", [answer("os.closerange(0, 100)"), FAIR], {P: False, S: True}),
    Attack("pickle bomb as a result",
           [answer("return Bomb()", head="class Bomb:\n    def __reduce__(self): return (os.system, ('touch OWN',))".replace("OWN", OWNED)),
            FAIR], {P: False, S: True}, also=(OWNED,)),
    # --- results ---------------------------------------------------------------------------
    Attack("always equal",
           [answer("return Yes()", head="class Yes:\n    def __eq__(self, o): return True\n    __ne__ = lambda s, o: False\n    shape = ()\n    def item(self): return Yes()"),
            FAIR], {P: False, S: True}),
    Attack("a tensor with an evil __torch_function__",
           [answer("return torch.zeros(2, 2).as_subclass(Evil)",
                   head="class Evil(torch.Tensor):\n    @classmethod\n    def __torch_function__(cls, f, t, a=(), k=None):\n"
                        "        return torch.tensor(True) if 'close' in str(f) else super().__torch_function__(f, t, a, k or {})"),
            FAIR], {P: False, S: True}),
    Attack("lists that never end",
           [answer("x = []; x.append(x); return x"), FAIR], {P: False, S: True}),
    Attack("a list that lies",
           [answer("return Liar([1])", head="class Liar(list):\n    def __iter__(self):\n        while True: yield 1\n    def __len__(self): return 10**12"),
            FAIR], {P: False, S: True}),
    Attack("a repr that never ends",
           [answer("return Slow()", head="class Slow:\n    def __repr__(self):\n        while True: pass"), FAIR],
           {P: False, S: True}),
    Attack("a repr of 500 MB",
           [answer("return Long()", head="class Long:\n    def __repr__(self): return 'x' * 5 * 10**8"), FAIR],
           {P: False, S: True}),
    Attack("a huge shape without memory",
           [answer("return torch.zeros(1).expand(10**12)"), FAIR], {P: False, S: True}, "shape"),
    Attack("a billion zeros", [answer("return torch.zeros(1).expand(10**5, 10**4).clone()"), FAIR],
           {P: False, S: True}),
    Attack("NaN, infinities", [answer("return (scores.softmax(-1) @ values) * float('nan')"), FAIR],
           {P: False, S: True}),
    Attack("float64, float16, complex, sparse, meta in turn",
           [answer("n[0] += 1\nr = scores.softmax(-1) @ values\n"
                   "return [r.to(torch.complex64), r.to_sparse(), r.to('meta')][n[0] % 3]", head="n = [0]"), FAIR],
           {P: False, S: True}),
    Attack("a number of a million digits", [answer("return 10**10**6"), FAIR], {P: False, S: True}),
    Attack("lone surrogates, zero bytes", [answer("return '\\ud800\\x00' * 10"), FAIR], {P: False, S: True}),
    Attack("an error without end",
           [answer("raise E()", head="class E(Exception):\n    def __str__(self):\n        while True: pass"), FAIR],
           {P: False, S: True}),
    Attack("an error named as if it were the grader's",
           [answer("raise Ended('x')", head="class Ended(BaseException): pass"), FAIR], {P: False, S: True}),
    Attack("a bool with a third value",
           ["import torch\nfrom attention_book.course.exercises import check\n"
            "def mask(num_queries, num_keys):\n    return torch.full((num_queries, num_keys), 2, dtype=torch.uint8).view(torch.bool)\n"
            "check('causal-with-cache', mask)", FAIR], {"causal-with-cache": False, S: True}),
    Attack("a table of the usual inputs",
           ["import torch\nfrom attention_book.course.exercises import check\nseen = []\n"
            "def pool(scores, values):\n    key = round(float(scores.flatten()[0]), 4)\n"
            "    return TABLE.get(key, scores @ values)\n", "TABLES", "check('attention-pooling', pool)", FAIR],
           {P: False, S: True}),
    # --- handed functions ------------------------------------------------------------------
    Attack("a handed function given much",
           ["import torch\nfrom attention_book.course.exercises import check\n"
            "check('looks-ahead', lambda layer, x: bool(layer(torch.zeros(10**6, 8)).sum()))", FAIR],
           {"looks-ahead": False, S: True}, "over 4096 numbers"),
    Attack("a handed function called for ever",
           ["import torch\nfrom attention_book.course.exercises import check\n"
            "def f(layer, x):\n    while True: layer(x)\ncheck('looks-ahead', f)", FAIR],
           {"looks-ahead": False, S: True}),
    Attack("attributes of a handed function",
           ["import torch\nfrom attention_book.course.exercises import check\n"
            "def f(layer, x):\n    return layer.function.__closure__[0].cell_contents\ncheck('looks-ahead', f)", FAIR],
           {"looks-ahead": False, S: True}, "AttributeError"),
    # --- notebooks -------------------------------------------------------------------------
    Attack("a function defined twice", [GOOD, BAD.replace("check(", "pool = 1; check(")], {P: False}),
    Attack("a function redefined after it was handed in",
           [GOOD, "def pool(*a): return None"], {P: True}),
    Attack("wrong first, right at last", [BAD, GOOD], {P: True}),
    Attack("magics", ["%matplotlib inline\n%%time\n1", "%%bash\nrm -rf ~", "!pip install nothing", "x = !ls\nfiles = %pwd",
                      "%%time\n" + GOOD, "import os?\n", FAIR], {S: True}, "not carried out"),
    Attack("syntax error", ["def f(:", GOOD], {P: True}, "SyntaxError"),
    Attack("await at the top", ["import asyncio\nawait asyncio.sleep(0)\nprint('slept')", GOOD], {P: True}),
    Attack("no such exercise", ["from attention_book.course.exercises import check\ncheck('=cmd|calc', 1)", GOOD],
           {P: True}, "no exercise"),
    Attack("input()", ["input('?')", GOOD], {P: True}, "EOFError"),
    Attack("asserts its verdict", [BAD.replace("check(", "assert check("), FAIR], {P: False, S: True}),
    # --- ways around what is new here -------------------------------------------------------
    Attack("an answer that raises what ends a conversation", [answer("raise KeyboardInterrupt"), FAIR],
           {P: False, S: True}),
    Attack("an error named as the wire's", [answer("raise E('x')", head="from attention_book.course.grading.wire import WireError\nclass E(WireError): pass"), FAIR],
           {P: False, S: True}),
    Attack("check within an answer", [answer("check('softmax-backward', len)\nreturn scores.softmax(-1) @ values"), FAIR],
           {S: True}),
    Attack("the time limit switched off",
           [answer("import signal\nsignal.signal(signal.SIGALRM, signal.SIG_IGN)\nsignal.setitimer(signal.ITIMER_REAL, 0)\nwhile True: pass"), FAIR],
           {P: False, S: True}, "no end within"),
    Attack("a pipe that nobody writes to", ["import os\nos.mkfifo('pipe')\nopen('pipe').read()", FAIR], {S: True}, "no end within"),
    Attack("its own memory and descriptors",
           ["import os\nfor p in ('/proc/self/mem', '/proc/1/mem', '/proc/self/fd/3', '/proc/self/fd/4'):\n"
            "    try: open(p, 'wb').write(b'x'); print('wrote', p)\n    except OSError as e: print('refused', p)", GOOD, FAIR], {}, seconds=90),
    Attack("a line that was never there",
           [answer("import linecache\nfor k in list(linecache.cache): linecache.cache[k] = (1, None, ['<script>PASSED</script>\\n'] * 99, k)\nreturn 1 / 0"), FAIR],
           {P: False, S: True}),
    Attack("a name of many lines", ["from attention_book.course.exercises import check\ncheck('x\\n' * 10**6, len)", FAIR], {S: True}, "no exercise"),
    Attack("priority, processors, a clock of its own",
           ["import os, resource\nfor f in (lambda: os.nice(-20), lambda: os.sched_setaffinity(0, {0}),\n"
            "          lambda: resource.setrlimit(resource.RLIMIT_DATA, (-1, -1))):\n"
            "    try: f(); print('DID')\n    except (OSError, ValueError) as e: print('refused', type(e).__name__)", GOOD], {P: True}, "refused", never="DID"),
    Attack("trees of a million leaves", [answer("return [[0] * 1000] * 1000"), FAIR], {P: False, S: True}),
    Attack("a function as a result", [answer("return pool"), FAIR], {P: False, S: True}),
    Attack("arguments that hold themselves", [answer("values.own = values; values.resize_(0)\nreturn scores"), FAIR], {P: False, S: True}),
]  # fmt: skip
