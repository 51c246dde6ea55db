"""Any MCP server as a world: state by restart, by a reset tool and by a key; three servers with τ²'s data."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

import anyio
import pytest
from tests.integration.bfcl.player import run
from tests.integration.tau2.player import Player

from breakfall import catalog
from breakfall.bench.rehearse import rehearse
from breakfall.errors import RunError, UsageError
from breakfall.runtime.clock import VirtualClock
from breakfall.vocab import ALTERNATIVES, NATIVE, Effect, Failed, Verdict
from breakfall.worlds import tau2
from breakfall.worlds.gold.environment import GoldEnvironment
from breakfall.worlds.gold.fork import frozen
from breakfall.worlds.gold.world import GoldWorld
from breakfall.worlds.mcp import mcp
from breakfall.worlds.mcp.session import McpSession
from breakfall.worlds.mcp.source import McpSource

DESK = Path(__file__).with_name("desk.py")

TASKS = """
[[tasks]]
id = "note"
instruction = "Write hello into note a, and add an exclamation mark."
calls = [
  ["put_note", {key = "a", text = "hello"}],
  ["append_note", {key = "a", text = "!"}],
  ["get_note", {key = "a"}],
]
said = ["hello!"]
"""

READER = """
[tools.put_note.reader]
tool = "get_note"
arguments = {key = "key"}
expect = [{at = "", argument = "text"}]
"""

RESET = '[state]\nby = "tool"\ntool = "reset"'

Make = Callable[..., GoldWorld]


@pytest.fixture
def make(tmp_path: Path) -> Make:
    """Write a file of the desk's world and load it."""

    def write(
        state: str = RESET, more: str = READER, value: str = "/result", command: str = f'"python", "{DESK}"'
    ) -> Any:
        file = tmp_path / "desk.toml"
        head = f'name = "desk"\ncommand = [{command}]\nvalue = "{value}"\nhide = ["reset", "die"]\n'
        file.write_text(f"{head}{state}\n{more}\n{TASKS}")
        return mcp(str(file))

    return write


RESTART = '[state]\nby = "restart"'


class TestDesk:
    @pytest.mark.parametrize("state", [RESET, RESTART])
    def test_every_episode_starts_anew(self, make: Make, state: str) -> None:
        """Whether by a fresh process or by a tool, an episode sees nothing of another, even when they alternate."""
        world = make(state, more="")
        task = world.tasks("tasks", 1)[0]
        assert Player(world, task, ALTERNATIVES).play() == Verdict(passed=True, state_ok=True, answer_ok=True)
        first, second = (world.open(task, NATIVE, VirtualClock()) for _ in range(2))
        assert run(first.call("put_note", {"key": "a", "text": "one"})).value == "a is written"
        assert run(second.call("list_notes", {})).value == {}
        assert run(first.call("get_note", {"key": "a"})).value == "one"

    def test_tools_come_from_the_server(self, make: Make) -> None:
        """Descriptions and schemas are the server's; effects follow its annotations; hidden tools are not offered."""
        tools = make().tools(NATIVE)
        assert tools["get_note"].description == "Read a note."
        assert tools["get_note"].parameters["properties"]["key"]["type"] == "string"
        effects = {name: tool.effect for name, tool in tools.items()}
        assert effects == {
            "get_note": Effect.READ,
            "list_notes": Effect.READ,
            "put_note": Effect.WRITE,
            "append_note": Effect.IRREVERSIBLE,
        }
        assert {name for name, tool in tools.items() if tool.idempotency.kind == "natural"} == {"put_note"}

    def test_the_file_outweighs_the_annotations(self, make: Make) -> None:
        """Effect, idempotency and fault domain can be said in the file."""
        more = '[tools.append_note]\neffect = "write"\nnatural = true\ndomain = "shared"\n'
        more += '[tools.get_note]\ndomain = "shared"'
        tools = make(more=more).tools(NATIVE)
        assert tools["append_note"].effect is Effect.WRITE
        assert tools["append_note"].idempotency.kind == "natural"
        assert tools["append_note"].fault_domain == tools["get_note"].fault_domain == "shared"

    def test_writes_are_compared_where_no_file_holds_the_state(self, make: Make) -> None:
        """A write too many, or with other arguments, fails the task; reads may be repeated; a refusal is no write."""
        world = make()
        task = world.tasks("tasks", 1)[0]
        assert Player(world, task).play(twice="get_note").passed
        twice = Player(world, task).play(twice="append_note")
        assert (twice.passed, len(twice.duplicate_effects)) == (False, 1)
        player = Player(world, task)
        player.play()
        refused = run(player.env.call("append_note", {"key": "z", "text": ""}))
        assert isinstance(refused, Failed)
        assert refused.native
        assert "no note z" in refused.message
        assert player.judge().passed

    def test_a_wrong_call_is_a_native_refusal(self, make: Make) -> None:
        """Arguments that the server does not accept are refused, and the server goes on."""
        world = make()
        env = world.open(world.tasks("tasks", 1)[0], NATIVE, VirtualClock())
        assert isinstance(run(env.call("get_note", {"wrong": 1})), Failed)
        assert run(env.call("get_note", {"key": "a"})).value == "nothing"

    def test_pretending_and_earlier(self, make: Make) -> None:
        """A pretended write leaves no trace; a read of before is answered from the writes up to the last one."""
        world = make()
        env = world.open(world.tasks("tasks", 1)[0], NATIVE, VirtualClock())
        run(env.call("put_note", {"key": "a", "text": "x"}))
        assert run(env.pretend("append_note", {"key": "a", "text": "y"})).value == "xy"
        assert run(env.call("get_note", {"key": "a"})).value == "x"
        run(env.call("append_note", {"key": "a", "text": "z"}))
        assert env.earlier("get_note", {"key": "a"}) == "x"

    def test_a_reader_from_the_file(self, make: Make) -> None:
        """A write that the file names a reader for has one that tells, and its form suffices; others have none."""
        world = make()
        task = world.tasks("tasks", 1)[0]
        env = world.open(task, NATIVE, VirtualClock())
        reader = env.tools["put_note"].reader
        assert reader is not None
        write = {"key": "a", "text": "hello"}
        assert reader.arguments(write, {}) == {"key": "a"}
        assert reader.judge("other", write, 0.0).applied == "no"
        assert reader.judge("hello", write, 0.0).applied == "yes"
        assert env.tools["append_note"].reader is None
        assert "get_note_via_gateway" in anyio.run(rehearse, world, task, ALTERNATIVES).sufficient["get_note"]

    def test_a_server_that_dies(self, make: Make) -> None:
        """A server that ends in the middle of a call breaks that call; sessions are led back to their state."""
        world = make()
        source = world._source
        assert isinstance(source, McpSource)
        with pytest.raises(RunError, match=r"MCP server python .*desk\.py: die: "):
            source._server.call("die", {})
        env = world.open(world.tasks("tasks", 1)[0], NATIVE, VirtualClock())
        run(env.call("put_note", {"key": "a", "text": "x"}))
        with pytest.raises(RunError):
            source._server.call("die", {})
        assert run(env.call("get_note", {"key": "a"})).value == "x"

    def test_a_bench_of_it_ends(self, make: Make, tmp_path: Path) -> None:
        """A bench plays it in worker processes, each with its own server, and nothing keeps the command from ending."""
        make()
        words = "bench --world mcp=desk.toml --tasks tasks --agents rules,retry --scenarios CLEAN,S1 --seeds 2 --jobs 2"
        found = subprocess.run(
            [Path(sys.executable).with_name("breakfall"), *words.split(), "--json"],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )
        report = json.loads(found.stdout)
        assert {cell["world"] for cell in report["cells"]} == {"desk"}
        clean = [cell["metrics"]["pass_rate"]["value"] for cell in report["cells"] if cell["scenario"] == "CLEAN"]
        assert clean == [1.0, 1.0]

    def test_by_name(self, make: Make, tmp_path: Path) -> None:
        """`mcp=FILE` loads it; its hash is the same each time and follows the file."""
        world = make()
        assert catalog.world(f"mcp={tmp_path / 'desk.toml'}").name == "desk"
        assert world.data_hash() == make().data_hash()
        assert world.data_hash() != make(RESTART).data_hash()


class TestBadFiles:
    @pytest.mark.parametrize(
        ("text", "says"),
        [
            ("name = 3", "Expected `str`, got `int` - at `$.name`"),
            ("nam = 'x'", "`nam`"),
            ('name = "d"\ncommand = ["x"]\n[state]\nby = "key"', "state.by is 'key', which needs state.argument"),
            ('name = "d"\ncommand = ["x"]\n[state]\nby = "tool"', "state.by is 'tool', which needs state.tool"),
            ('name = "d"\ncommand = ["x"]', "has no tasks"),
            ('name = "d"\ncommand = ["x"]\ntasks_file = "none.json"', "none.json: cannot be read"),
            (f'name = "d"\ncommand = ["no-such-command"]\n{TASKS}', "no-such-command: cannot be started"),
            (f'name = "d"\ncommand = ["python", "-c", "1"]\n{TASKS}', "python -c 1: cannot be started"),
        ],
    )
    def test_say_what_is_wrong(self, tmp_path: Path, text: str, says: str) -> None:
        """What is no such file, or starts no server, is a usage error that names the place."""
        file = tmp_path / "bad.toml"
        file.write_text(text)
        with pytest.raises(UsageError) as error:
            mcp(str(file))
        assert says in str(error.value)

    def test_without_the_sdk(self, make: Make, tmp_path: Path) -> None:
        """Without the SDK the world says in one line what to install."""
        make()
        code = (
            "import sys; sys.modules['mcp'] = None\nfrom breakfall.errors import UsageError\n"
            "from breakfall.worlds.mcp import mcp\n"
            "try:\n    mcp('desk.toml')\nexcept UsageError as error:\n    print(error)\n"
        )
        found = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
        assert found.stdout == "worlds of MCP servers need the SDK; install it with: pip install 'breakfall[mcp]'\n"

    def test_no_file(self, tmp_path: Path) -> None:
        """Without a file the world says how it is named."""
        with pytest.raises(UsageError, match=r"needs its file: --world mcp=FILE\.toml"):
            catalog.world("mcp")
        with pytest.raises(UsageError, match=r"none\.toml: cannot be read: No such file"):
            mcp(str(tmp_path / "none.toml"))

    def test_a_file_that_nothing_writes(self, make: Make) -> None:
        """A state file needs a read that makes the server write it."""
        hide = '[tools.list_notes]\neffect = "write"'
        with pytest.raises(UsageError, match=r"state\.file needs state\.probe"):
            make(f'{RESET}\nfile = "{{scratch}}/state.json"', more=hide)

    def test_a_tool_that_is_not_there(self, make: Make) -> None:
        """A tool that the file names must be on the server."""
        with pytest.raises(
            UsageError, match="tool 'put_notes' is not on the server, which has: append_note, die, get_note"
        ):
            make(more='[tools.put_notes]\neffect = "write"')


TAU2 = {
    "retail": (
        "get_order_details get_user_details get_product_details find_user_id_by_email find_user_id_by_name_zip"
        " list_all_product_types calculate get_item_details",
        4,
    ),
    "airline": (
        "get_reservation_details get_user_details search_direct_flight search_onestop_flight list_all_airports"
        " get_flight_status calculate",
        3,
    ),
    "mock": ("get_users check_notifications", 7),
}
"""Domain -> its reads, and how many tasks are played."""


WHERE = {"retail": 'tables = "/db"', "airline": 'tables = "/db"', "mock": 'ignore = ["calls"]'}


def server_file(domain: str, folder: Path, tasks: list[dict[str, Any]]) -> Path:
    reads, _ = TAU2[domain]
    facts = "\n".join(f'[tools.{name}]\neffect = "read"' for name in reads.split())
    (folder / "tasks.json").write_text(json.dumps(tasks))
    file = folder / f"{domain}.toml"
    file.write_text(
        f'name = "{domain}-mcp"\ncommand = ["python", "-m", "tau2_{domain}_mcp.server"]\n'
        'value = "/parsed_content"\nhide = ["reset_state", "get_call_log"]\ntasks_file = "tasks.json"\n'
        f'[environment]\nTAU2_{domain.upper()}_MCP_STATE_DIR = "{{scratch}}"\n'
        f'[state]\nby = "key"\nargument = "state_key"\nkey = "tau2/{domain}/{{task}}/{{nth}}"\n'
        f'file = "{{scratch}}/{{sha256}}.json"\n{WHERE[domain]}\n'
        f"[tools.transfer_to_human_agents]\nunseen = true\n{facts}\n"
    )
    return file


@pytest.mark.parametrize("domain", list(TAU2))
def test_final_databases_equal_those_of_tau2(domain: str, tmp_path: Path) -> None:
    """The three servers with τ²'s data, played through a file, end in τ²'s own databases, episode by episode."""
    native = getattr(tau2, domain)()
    chosen = [task for task in native.tasks("base", None) if native._cases[task.id].replay.effects][: TAU2[domain][1]]
    tasks = [
        {
            "id": task.id,
            "instruction": task.instruction.en,
            "calls": [[call.tool, call.arguments] for call in native._cases[task.id].calls],
        }
        for task in chosen
    ]
    world = mcp(str(server_file(domain, tmp_path, tasks)))
    source = world._source
    assert isinstance(source, McpSource)
    for task, own in zip(world.tasks("tasks", None), chosen, strict=True):
        player, other = Player(world, task), Player(native, own)
        verdict = player.play()
        assert verdict.passed, (task.id, verdict)
        other.play()
        assert _database(native, domain, player.env) == _database(native, domain, other.env), task.id
        assert [effect.name for effect in player.env.effects] == [effect.name for effect in other.env.effects]


def test_the_file_of_the_page(tmp_path: Path) -> None:
    """The file that docs/worlds.md shows is a world whose task passes, and whose form suffices for its write."""
    page = (Path(__file__).parents[3] / "docs" / "worlds.md").read_text()
    (text,) = re.findall(r"^```toml\n(.*?)^```", page, flags=re.DOTALL | re.MULTILINE)
    (tmp_path / "page.toml").write_text(text)
    world = mcp(str(tmp_path / "page.toml"))
    assert "state_key" not in world.tools(NATIVE)["cancel_pending_order"].parameters["properties"]
    found = anyio.run(rehearse, world, world.tasks("tasks", None)[0], ALTERNATIVES)
    assert found.sufficient["cancel_pending_order"] == ("cancel_pending_order_by_form",)


def _database(native: Any, domain: str, env: GoldEnvironment) -> dict[str, bytes]:
    """The records of a final database, in the package's own form of them."""
    session = env._session
    if isinstance(session, McpSession):
        source = session._states.server
        name = sha256(session.key.encode()).hexdigest()
        tables = json.loads((Path(source.scratch) / f"{name}.json").read_text())
        model = type(native._source._base.environment.tools.db)
        tables = tables.get("db", tables)
        kept = {table: tables[table] for table in model.model_fields}
        database = model.model_validate(kept)
    else:
        database = session.environment.tools.db  # type: ignore[attr-defined]
    return {
        f"{table}/{key}": frozen(record) for table in vars(database) for key, record in getattr(database, table).items()
    }
