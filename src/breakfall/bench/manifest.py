"""`run.json`: what a run folder holds, so that it can be resumed, reported and reproduced."""

from __future__ import annotations

from hashlib import blake2b
from pathlib import Path

import msgspec
from msgspec import Struct
from msgspec.structs import replace

import breakfall
from breakfall import catalog
from breakfall.bench import remember
from breakfall.bench.matrix import Spec
from breakfall.errors import StoreError, UsageError
from breakfall.faults.profile import Profile
from breakfall.memory import store
from breakfall.memory.beliefs import Memory

NAME = "run.json"
FORMAT = 1
_DIGEST_BYTES = 8
_DECIDING = (
    "agents",
    "faults",
    "memory",
    "recovery",
    "runtime",
    "vocab",
    "worlds",
    "bench/rehearse.py",
    "bench/remember.py",
    "catalog.py",
    "seeds.py",
)
"""The parts of breakfall that decide how an episode goes."""


class Manifest(Struct, frozen=True, kw_only=True):
    """What fixes a run, and how far it got."""

    format: int = FORMAT
    breakfall: str
    command: str
    """The command that reproduces the run."""
    spec: Spec
    profile: Profile
    """What `spec.profile` was when the run began."""
    profile_digest: str = ""
    """Hash of that profile, whatever it is called: runs with equal ones met the same noise."""
    memory: Memory | None = None
    """What `spec.memory` held when the run began."""
    data: dict[str, str]
    """Hash of each world's data."""
    code: str
    """Hash of the code that decides how an episode goes, agents of one's own included."""
    complete: bool = False
    wall_s: float = 0.0
    """Real seconds spent so far, over all starts; the only time of the real world in a run folder."""


def describe(spec: Spec, profile: Profile | None = None, memory: Memory | None = None) -> Manifest:
    """Describe the run that a spec is, here and now.

    Args:
        spec: What to run.
        profile: What the spec's profile holds; None: look it up.
        memory: What the spec's memory holds; None: read it, if the spec has one.

    Raises:
        UsageError: A world, agent, profile or memory does not exist or cannot be loaded.
        StoreError: The memory is damaged.
    """
    if memory is None and spec.memory:
        memory = store.read(Path(spec.memory))
    profile = profile or catalog.profile(spec.profile)
    return Manifest(
        breakfall=breakfall.__version__,
        command=spec.command,
        spec=spec,
        profile=profile,
        profile_digest=_hash(replace(profile, name="-")),
        memory=memory,
        data={name: _data_hash(name) for name in spec.worlds},
        code=_code_hash(spec),
    )


def digest(manifest: Manifest) -> str:
    """Return a short name for what a run is: equal for equal spec, profile, data and code."""
    return _hash(_fixed(manifest))[:8]


def _hash(value: object) -> str:
    return blake2b(msgspec.json.encode(value, order="deterministic"), digest_size=_DIGEST_BYTES).hexdigest()


def _data_hash(name: str) -> str:
    with catalog.asking(f"world {name!r}", "data_hash() failed"):
        return catalog.world(name).data_hash()


def differences(stored: Manifest, wanted: Manifest) -> list[str]:
    """Say in what two runs differ; empty if one goes on with the other."""
    before, after = _fixed(stored), _fixed(wanted)
    found = []
    for name in before | after:
        if before.get(name) != after.get(name):
            shown = name in Spec.__struct_fields__ and name != "limits"
            found.append(f"{name} {_short(before[name])} there, {_short(after[name])} here" if shown else name)
    return found


def read(folder: Path) -> Manifest:
    """Read the manifest of a run folder.

    Raises:
        UsageError: There is none.
        StoreError: It is damaged or of a newer format.
    """
    path = folder / NAME
    try:
        raw = path.read_bytes()
    except FileNotFoundError:
        raise UsageError(f"{folder}: no run is stored here (no {NAME}); `breakfall bench --out` makes one") from None
    except OSError as error:
        raise StoreError(f"{path}: cannot be read: {error.strerror}") from None
    try:
        manifest = msgspec.json.decode(raw, type=Manifest)
    except (msgspec.MsgspecError, UsageError) as error:
        raise StoreError(f"{path}: damaged: {error}; restore it, or run again into another folder") from None
    if manifest.format > FORMAT:
        raise StoreError(f"{path}: format {manifest.format}, this breakfall reads up to {FORMAT}; use a newer one")
    return manifest


def write(folder: Path, manifest: Manifest) -> None:
    """Write the manifest of a run folder, whole or not at all.

    Raises:
        StoreError: It cannot be written.
    """
    path = folder / NAME
    draft = path.with_suffix(".tmp")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        draft.write_bytes(msgspec.json.format(msgspec.json.encode(manifest), indent=2) + b"\n")
        draft.replace(path)
    except OSError as error:
        raise StoreError(f"{path}: cannot be written: {error.strerror}") from None


def _fixed(manifest: Manifest) -> dict[str, object]:
    apart = ("profile", "memory")
    spec = {name: getattr(manifest.spec, name) for name in Spec.__struct_fields__ if name not in apart}
    profile: dict[str, object] = {"profile": manifest.spec.profile, "profile's content": manifest.profile}
    if manifest.memory is not None:
        profile["memory's content"] = manifest.memory
    return {**spec, **profile, "the worlds' data": manifest.data, "breakfall's or the agents' code": manifest.code}


def _short(value: object) -> str:
    return ",".join(map(str, value)) or "(default)" if isinstance(value, tuple) else str(value)


def _code_hash(spec: Spec) -> str:
    home = Path(breakfall.__file__).parent
    files = [file for part in _DECIDING for file in _sources(home / part)]
    named = [(file.relative_to(home).as_posix(), file) for file in files]
    agents = dict.fromkeys(remember.parted(name)[0] for name in spec.agents)
    others = [(name, catalog.source_file(name)) for name in (*spec.worlds, *agents)]
    named += [(name, file) for name, file in others if file is not None]
    whole = blake2b(digest_size=_DIGEST_BYTES)
    for name, file in sorted(named):
        whole.update(b"%b\0%b\0" % (name.encode(), blake2b(file.read_bytes()).digest()))
    return whole.hexdigest()


def _sources(path: Path) -> list[Path]:
    return [path] if path.is_file() else sorted(path.rglob("*.py"))
