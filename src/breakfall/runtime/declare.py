"""Declare your own functions as tools: effect, paths, reader, idempotency, in a decorator that keeps the signature."""

from __future__ import annotations

import functools
import inspect
import warnings
from collections.abc import Callable, Sequence
from typing import Any, Generic, ParamSpec, TypeVar

import msgspec

from breakfall.errors import UsageError, unknown_name
from breakfall.recovery.expectations import Expectation
from breakfall.vocab import Effect, Granularity, Idempotency, IdempotencyKind, Path, Reader, Tool
from breakfall.vocab.schema import ArgumentSchema
from breakfall.vocab.tool import Judge, MapArguments, MapValue, same_arguments, same_value

P = ParamSpec("P")
R = TypeVar("R")

_PLAIN = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)


class Declared(Generic[P, R]):
    """A function declared as a tool. Calling it calls the function itself, unguarded; a `Toolbox` guards it."""

    def __init__(
        self, function: Callable[P, R], spec: Tool, *, timeout_s: float | None, expect: Sequence[Expectation] = ()
    ) -> None:
        functools.update_wrapper(self, function)
        self.expect = tuple(expect)
        self.returns = ArgumentSchema(spec.returns) if spec.returns else None
        self.function = function
        self.spec = spec
        self.writes = spec.writes
        self.timeout_s = timeout_s
        self.simple = not self.writes and timeout_s is None
        """Whether a call of it is one function call, of which nothing needs to be stored."""
        self.is_async = inspect.iscoroutinefunction(function)
        self._signature = inspect.signature(function)
        parameters = self._signature.parameters.values()
        self._names = tuple(p.name for p in parameters if p.kind is inspect.Parameter.POSITIONAL_OR_KEYWORD)
        self._defaults = {p.name: p.default for p in parameters if p.default is not inspect.Parameter.empty}
        self._plain = all(p.kind in _PLAIN for p in parameters)
        self._arity = len(parameters) if self._plain and len(parameters) == len(self._names) else -1

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Call the function itself."""
        return self.function(*args, **kwargs)

    def __repr__(self) -> str:
        return f"<tool {self.spec.name!r}>"

    def arguments(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
        """Name the arguments of a call, defaults included, so that equal calls have equal arguments.

        Raises:
            TypeError: The function could not be called so.
        """
        if len(args) == self._arity and not kwargs:
            return dict(zip(self._names, args, strict=True))
        if not self._plain:
            bound = self._signature.bind(*args, **kwargs)
            bound.apply_defaults()
            return dict(bound.arguments)
        named = {**self._defaults, **kwargs}
        if args:
            for name, value in zip(self._names, args, strict=False):
                if name in kwargs:
                    self._signature.bind(*args, **kwargs)  # raises what Python would say
                named[name] = value
        if len(args) > len(self._names) or len(named) != len(self._signature.parameters):
            self._signature.bind(*args, **kwargs)
        return named

    def restored(self, value: Any) -> Any:
        """Bring a recorded value back into the type that the function says it returns."""
        try:
            hint = inspect.get_annotations(self.function, eval_str=True).get("return", Any)
            return msgspec.convert(value, hint, strict=False)
        except (msgspec.ValidationError, TypeError, NameError, AttributeError):
            return value

    def run(self, arguments: dict[str, Any]) -> R:
        """Call the function with named arguments."""
        if self._plain:
            return self.function(**arguments)  # type: ignore[call-arg]
        bound = self._signature.bind_partial()
        bound.arguments.update(arguments)
        return self.function(*bound.args, **bound.kwargs)


def tool(
    effect: Effect | str,
    *,
    name: str | None = None,
    fault_domain: str | None = None,
    paths: Sequence[Path] = (),
    reader: Reader | None = None,
    idempotency: Idempotency | None = None,
    timeout_s: float | None = None,
    cost_usd: float = 0.0,
    returns: dict[str, Any] | None = None,
    expect: Sequence[Expectation] = (),
) -> Callable[[Callable[P, R]], Declared[P, R]]:
    """Declare a function as a tool.

    Args:
        effect: "read", "write" or "irreversible".
        name: The tool's name; by default the function's.
        fault_domain: What it fails together with; by default itself alone.
        paths: Other ways to the same: see `via`.
        reader: How to look up what a write did: see `look_up`.
        idempotency: What happens when the same write arrives twice: see `key` and `natural`; by default it happens
            twice.
        timeout_s: After so many seconds the call counts as timed out. A late result is kept and settles the call.
        cost_usd: What one call costs.
        returns: JSON Schema of what it returns; an answer that does not fit counts as malformed.
        expect: What must hold of an answer, such as `fresh(…)` or `adds_up(…)` of `breakfall.recovery.expectations`;
            an answer of which it does not hold counts as the silent fault that it shows.

    Raises:
        UsageError: The declaration contradicts itself or the function.
    """
    try:
        kind = Effect(effect)
    except ValueError:
        raise UsageError(f"effect is {effect!r}, must be one of: {', '.join(Effect)}") from None

    def declare(function: Callable[P, R]) -> Declared[P, R]:
        title = name or function.__name__
        promise = idempotency or Idempotency()
        _check(title, function, kind, promise)
        if kind is not Effect.READ and reader is None and promise.kind is IdempotencyKind.NONE:
            warnings.warn(
                f"tool {title!r} writes, and has neither a reader nor a key: when its answer is lost nobody can know "
                "whether it happened, and a person must look. Give it `reader=look_up(...)` or `idempotency=key(...)`",
                stacklevel=2,
            )
        spec = Tool(
            name=title,
            description=inspect.getdoc(function) or "",
            parameters=_parameters(function),
            returns=returns or {},
            effect=kind,
            fault_domain=fault_domain or title,
            paths=tuple(paths),
            reader=reader,
            idempotency=promise,
            timeout_s=timeout_s if timeout_s is not None else 0.0,
            cost_usd=cost_usd,
        )
        try:
            return Declared(function, spec, timeout_s=timeout_s, expect=expect)
        except ValueError as error:
            raise UsageError(f"tool {title!r}: `returns` is {error}") from None

    return declare


def via(
    other: Declared[Any, Any] | str,
    *,
    arguments: MapArguments = same_arguments,
    value: MapValue = same_value,
    missing: Sequence[str] = (),
) -> Path:
    """Name another way to the same information or effect.

    Args:
        other: The other tool.
        arguments: (arguments of the original, context) -> arguments of the other, or None where they are not known.
        value: (the other's value, arguments, context) -> the value in the original's form.
        missing: The fields of the original that it cannot give.
    """
    return Path(
        tool=_name_of(other),
        arguments=arguments,
        value=value,
        granularity=Granularity.PARTIAL if missing else Granularity.EXACT,
        missing=tuple(missing),
    )


def look_up(
    reader: Declared[Any, Any] | str,
    *,
    judge: Judge,
    arguments: MapArguments = same_arguments,
    in_transit_s: float = 0.0,
) -> Reader:
    """Name the read that tells what a write did.

    Args:
        reader: A tool that reads from the system of record, past every cache.
        judge: (its value, arguments of the write, when the write was first sent, as seconds since 1970) -> a
            `Settlement`; `UNKNOWN` for a value that is stale or incomplete.
        arguments: (arguments of the write, context) -> arguments of the reader.
        in_transit_s: How long after it was sent the write may still take effect, in a queue or a slow network: "not
            applied" is not believed before.
    """
    return Reader(tool=_name_of(reader), arguments=arguments, judge=judge, in_transit_s=in_transit_s)


def key(parameter: str, *, window_s: float | None = None) -> Idempotency:
    """Promise that the server answers a repeat with the same key, in this parameter, with the first one's result."""
    return Idempotency(kind=IdempotencyKind.KEY, parameter=parameter, window_s=window_s)


def natural() -> Idempotency:
    """Promise that a repeat of the same write changes nothing."""
    return Idempotency(kind=IdempotencyKind.NATURAL)


def _name_of(declared: Declared[Any, Any] | str) -> str:
    return declared if isinstance(declared, str) else declared.spec.name


def _check(title: str, function: Callable[..., Any], effect: Effect, promise: Idempotency) -> None:
    if effect is Effect.READ and promise.kind is not IdempotencyKind.NONE:
        raise UsageError(f"tool {title!r} reads: it needs no idempotency")
    if promise.kind is IdempotencyKind.KEY:
        parameters = inspect.signature(function).parameters
        takes_any = any(p.kind is inspect.Parameter.VAR_KEYWORD for p in parameters.values())
        if promise.parameter not in parameters and not takes_any:
            raise UsageError(
                f"tool {title!r} has no parameter {promise.parameter!r} to carry the key; it has: "
                f"{', '.join(parameters) or 'none'}"
            )


def _parameters(function: Callable[..., Any]) -> dict[str, Any]:
    """Derive a JSON Schema from the annotations; parameters of types that JSON does not know may hold anything."""
    try:
        hints = inspect.get_annotations(function, eval_str=True)
    except Exception:  # an annotation that cannot be evaluated says nothing
        hints = {}
    properties: dict[str, Any] = {}
    required = []
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind not in _PLAIN:
            return {"type": "object"}
        properties[parameter.name] = _schema(hints.get(parameter.name, Any))
        if parameter.default is inspect.Parameter.empty:
            required.append(parameter.name)
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


def _schema(hint: Any) -> dict[str, Any]:
    try:
        schema = msgspec.json.schema(hint)
    except TypeError:
        return {}
    return {} if "$defs" in schema else schema


def by_name(tools: tuple[Declared[Any, Any], ...]) -> dict[str, Declared[Any, Any]]:
    """Index the tools; refuse what cannot work before the first call."""
    named: dict[str, Declared[Any, Any]] = {}
    for declared in tools:
        name = declared.spec.name
        if name in named and named[name] is not declared:
            raise UsageError(f"two tools are named {name!r}; give one of them `name=`")
        named[name] = declared
    for declared in tools:
        spec = declared.spec
        others = {"path": [path.tool for path in spec.paths], "reader": [spec.reader.tool] if spec.reader else []}
        for what, wanted in others.items():
            for other in wanted:
                if other not in named:
                    raise unknown_name(f"tool for the {what} of {spec.name!r}:", other, named, "give it to the Toolbox")
                if named[other].is_async and not declared.is_async:
                    raise UsageError(
                        f"{spec.name!r} is sync and its {what} {other!r} is async; make both sync or async"
                    )
    return named
