"""Two processes that call each other's functions, with values as bytes; gradients pass too.

Each side has functions that the other may call by number. A call sends its arguments; the answer
brings back the result and the arguments as they are afterwards, or the error. Where an argument
requires a gradient, the side that computed keeps the graph, and the backward pass is one more
question.
"""

import builtins
import inspect
import traceback
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import torch
from torch import Tensor

from attention_book.course.grading.wire import (
    MOST_TEXT,
    Function,
    Reader,
    WireError,
    Writer,
    repr_of,
)
from attention_book.course.time_limit import DoesNotEnd

#: Graphs of so many earlier calls are kept.
GRAPHS = 64


class Failed(Exception):
    """A call raised on the other side.

    Attributes:
        kind: The name of the error's class.
        text: What it says.
        arguments: What it was made with, where that is plain.
        line: The number of the function's own line that raised it, and its text; or None.
    """

    def __init__(self, kind: str, text: str, arguments: tuple[Any, ...], line: Any) -> None:
        super().__init__(f"{kind}: {text}")
        self.kind, self.text, self.arguments = kind, text, arguments
        self.line: tuple[int, str] | None = None
        match line:
            case [int(number), str(source)]:
                self.line = number, source

    def error(self) -> BaseException:
        """Return an error of the same class, if that is one of Python's, with the same text."""
        if self.kind == DoesNotEnd.__name__:
            return DoesNotEnd()
        kind = _ERRORS.get(self.kind)
        if kind is not None:
            try:
                found = kind(*self.arguments)
                if str(found) == self.text:
                    return found
            except Exception:  # made with something else than it keeps
                pass
        named: type[Exception] = type(self.kind[:MOST_TEXT] or "Error", (Exception,), {})
        return named(self.text)


# Their classes matter: a mistake is also recognized by the class of its error.
_ERRORS: dict[str, type[BaseException]] = {
    name: found
    for name, found in vars(builtins).items()
    if isinstance(found, type)
    and issubclass(found, BaseException)
    and not issubclass(found, KeyboardInterrupt | GeneratorExit)
}


class Call(NamedTuple):
    """What came of a call.

    Attributes:
        result: What was returned.
        after: The arguments as they are afterwards.
        used: The book's own functions that ran meanwhile, by name.
    """

    result: Any
    after: list[Any]
    used: tuple[str, ...]


class Peer:
    """One of the two.

    Args:
        send: Sends bytes.
        receive: Waits for bytes.
        guard: Looks at the arguments of a call before it is made; raises if they won't do.
    """

    def __init__(
        self,
        send: Callable[[bytes], None],
        receive: Callable[[], bytes],
        guard: Callable[[Any], None] | None = None,
    ) -> None:
        self._send, self._receive, self._guard = send, receive, guard
        self.functions: dict[int, Callable[..., Any]] = {}
        self.handlers: dict[str, Callable[..., Any]] = {"call": self.called, "vjp": self._vjp}
        #: Questions that want no answer.
        self.notices: set[str] = set()
        #: Errors that are not the other side's to know of: they end the conversation.
        self.fatal: tuple[type[BaseException], ...] = (WireError,)
        self._graphs: dict[int, tuple[list[Tensor], list[Tensor]]] = {}
        self._count = 0

    def ask(self, kind: str, *values: Any) -> Any:
        """Send a question; answer the other side's questions until the answer comes.

        Raises:
            Failed: if it raised there.
            WireError: if what comes is no message.
        """
        self.tell(kind, *values)
        while True:
            what, *rest = self.read()
            if what == "answer":
                return rest[0] if rest else None
            if what == "error":
                match rest:
                    case [str(name), str(text), tuple(arguments), line]:
                        raise Failed(name, text, arguments, line)
                raise WireError("no error")
            self.serve(what, rest)

    def tell(self, kind: str, *values: Any) -> None:
        """Send a message."""
        self._send(Writer(self.export).bytes([kind, *values]))

    def read(self) -> list[Any]:
        """Wait for a message: what is asked, and the values."""
        message = Reader(self._receive(), lambda function: Distant(self, function)).value()
        if not isinstance(message, list) or not message or not isinstance(message[0], str):
            raise WireError("no message")
        return message

    def call(self, function: Function, args: tuple[Any, ...], keywords: dict[str, Any]) -> Call:
        """Call a function of the other side."""
        leaves = [t for t in tensors((args, keywords)) if t.requires_grad]
        found = self.ask("call", function.number, args, keywords, bool(leaves))
        match found:
            case (int(number), result, list(after), list(used)):
                pass
            case _:
                raise WireError("no result of a call")
        outputs = [t for t in tensors(result) if t.requires_grad] if leaves else []
        if outputs:
            plain = [t.detach() for t in outputs]
            flat = _Bridge.apply(self, number, len(outputs), *plain, *leaves)
            into = dict(zip(map(id, outputs), flat, strict=True))
            result = mapped(result, lambda t: into.get(id(t), t))
        return Call(result, after, tuple(str(name)[:100] for name in used))

    def export(self, function: Callable[..., Any]) -> Function:
        """Let the other side call a function."""
        number = id(function)
        self.functions[number] = function
        name = getattr(function, "name", None) or getattr(function, "__name__", "function")
        return Function(number, str(name), _parameters(function), _signature(function))

    def serve(self, kind: str, values: list[Any]) -> None:
        """Answer one question."""
        if kind not in self.handlers:
            raise WireError(f"no such question: {kind!r:.40}")
        try:
            found = self.handlers[kind](*values)
            if kind in self.notices:
                return
            data = Writer(self.export).bytes(["answer", found])
        except self.fatal:
            raise
        except BaseException as error:
            function = self.functions.get(values[0]) if kind == "call" and values else None
            data = Writer().bytes(["error", *_told(error, function)])
        self._send(data)

    def called(
        self, number: int, args: tuple[Any, ...], keywords: dict[str, Any], keep: bool
    ) -> tuple[int, Any, list[Any], list[str]]:
        """Call a function of this side: the call's number, its result, the arguments after it."""
        if self._guard is not None:
            self._guard((args, keywords))
        leaves = [t for t in tensors((args, keywords)) if t.requires_grad]
        self._count += 1
        result = self.functions[number](*args, **keywords)
        if keep:
            outputs = [t for t in tensors(result) if t.requires_grad]
            self._graphs[self._count] = leaves, outputs
            self._graphs.pop(self._count - GRAPHS, None)
        return self._count, result, list(args), []

    def _vjp(self, call: int, gradients: list[Any]) -> list[Tensor | None]:
        leaves, outputs = self._graphs[call]
        return list(
            torch.autograd.grad(outputs, leaves, gradients, allow_unused=True, retain_graph=True)
        )


class Distant:
    """A function of the other side, called like one's own."""

    def __init__(self, peer: Peer, function: Function) -> None:
        self.peer, self.function = peer, function
        self.__name__ = self.name = function.name

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        """Call it.

        Raises:
            BaseException: what it raised there.
        """
        try:
            return self.peer.call(self.function, args, keywords).result
        except Failed as failed:
            raise failed.error() from None

    def __repr__(self) -> str:
        """Return its name."""
        return self.name


class _Bridge(torch.autograd.Function):
    """The part of a graph that lies on the other side."""

    @staticmethod
    def forward(ctx: Any, peer: Peer, call: int, count: int, *both: Tensor) -> Any:
        """Take the results that came."""
        ctx.peer, ctx.call, ctx.count = peer, call, count
        return tuple(t.clone() for t in both[:count])

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> Any:
        """Ask for the gradients of what was sent."""
        found = ctx.peer.ask("vjp", ctx.call, list(gradients))
        return None, None, None, *[None] * ctx.count, *found


def tensors(value: Any) -> Iterator[Tensor]:
    """Yield the tensors of a tree of tuples, lists, dictionaries."""
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, dict):
        yield from (t for each in value.values() for t in tensors(each))
    elif isinstance(value, list | tuple):
        yield from (t for each in value for t in tensors(each))


def mapped(value: Any, change: Callable[[Tensor], Tensor]) -> Any:
    """Return a tree with other tensors."""
    if isinstance(value, Tensor):
        return change(value)
    if isinstance(value, dict):
        return {key: mapped(each, change) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(mapped(each, change) for each in value)
    return value


def _told(error: BaseException, function: Any) -> tuple[Any, ...]:
    try:
        text = str(error)[:MOST_TEXT]
        arguments = tuple(a for a in error.args if type(a) in (str, int, float, bool))
        if len(arguments) != len(error.args):
            arguments = (text,)
    except BaseException:
        text, arguments = "", ()
    return type(error).__name__, text, arguments, _line_of(function, error)


def _line_of(function: Any, error: BaseException) -> list[Any] | None:
    """Return the line of the function itself on which it failed, not one in a library."""
    code = getattr(function, "__code__", None)
    try:
        for frame in reversed(traceback.extract_tb(error.__traceback__)):
            if code is not None and frame.filename == code.co_filename and frame.line:
                return [frame.lineno or 0, frame.line[:MOST_TEXT]]
    except BaseException:  # the answer may have replaced anything
        return None
    return None


def _parameters(function: Callable[..., Any]) -> tuple[tuple[str, str, str | None], ...] | None:
    try:
        found = inspect.signature(function).parameters.values()
    except (ValueError, TypeError):
        return None
    empty = inspect.Parameter.empty
    return tuple(
        (p.name, p.kind.name, None if p.default is empty else repr_of(p.default)) for p in found
    )


def _signature(function: Callable[..., Any]) -> str:
    try:
        return str(inspect.signature(function))[:MOST_TEXT]
    except (ValueError, TypeError):
        return repr_of(function)
