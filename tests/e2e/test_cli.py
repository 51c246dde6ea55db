"""The installed command, as a user types it."""

import json
import os
import pty
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

BREAKFALL = Path(sys.executable).parent / "breakfall"
SMALL = ("bench", "--tasks", "4", "--seeds", "1", "--jobs", "1")

AGENT = """
from breakfall.vocab import Answer, Ok

class Agent:
    async def run(self, task, toolbox):
        for step in task.plan:
            outcome = await toolbox.call(step.tool, {})
        return Answer(text="tried")

class Broken:
    async def run(self, task, toolbox):
        raise ValueError("out of ideas")

class Exits(Agent):
    async def run(self, task, toolbox):
        import os
        os._exit(0)

class Talks(Agent):
    async def run(self, task, toolbox):
        import asyncio, subprocess
        async def fail():
            raise ValueError("nobody waits for me")
        self.left = asyncio.create_task(fail())
        print("said by Python")
        subprocess.run(["echo", "said by a process"])
        return await super().run(task, toolbox)

class Hangs(Agent):
    async def run(self, task, toolbox):
        import asyncio
        await asyncio.sleep(3600)

class Slow(Agent):
    async def run(self, task, toolbox):
        import time
        time.sleep(0.05)
        return await super().run(task, toolbox)
"""


@pytest.fixture
def shell(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text(AGENT)
    (tmp_path / "loud.py").write_text("print('said at import')\nfrom mine import Talks")

    def run(*words: str, code: int = 0) -> subprocess.CompletedProcess[str]:
        ran = subprocess.run([BREAKFALL, *words], capture_output=True, text=True)
        assert ran.returncode == code, ran.stdout + ran.stderr
        return ran

    return run


@pytest.mark.parametrize(
    ("words", "example"),
    [
        (("--help",), "breakfall bench --tasks 20"),
        (("bench", "--help"), "breakfall bench --agent my_agent:Agent"),
        (("show", "--help"), "breakfall show runs/default --agent retry --failed"),
        (("repro", "--help"), "breakfall repro runs/default"),
    ],
)
def test_every_help_has_an_example(shell, words, example):
    """Each command shows how it is used."""
    assert example in shell(*words).stdout


def test_help_imports_nothing_heavy(shell):
    """Help is instant because neither numpy nor a world is loaded for it."""
    program = (
        "import sys, breakfall.cli.app; print(sorted({'numpy', 'anyio', 'breakfall.bench.run'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", program], capture_output=True, text=True).stdout == "[]\n"


def test_version(shell):
    """The version is the package's."""
    from importlib.metadata import version

    assert shell("--version").stdout == f"breakfall {version('breakfall')}\n"


def test_a_bench_runs_reports_and_is_looked_into(shell, tmp_path):
    """From nothing: run, table, report files, list, replay, repeat; a second start has nothing left to do."""
    ran = shell(*SMALL, "--out", "run")
    assert "Ran 64 episodes" in ran.stdout
    assert "Reproduce: breakfall bench --world store --tasks 4" in ran.stdout
    assert ran.stderr == ""
    assert {"report.html", "report.json", "junit.xml", "run.json"} <= {path.name for path in Path("run").iterdir()}

    assert "Ran 0 episodes; 64 were settled already." in shell(*SMALL, "--out", "run").stdout

    listed = shell("show", "run", "--agent", "retry", "--scenario", "s2").stdout.splitlines()
    assert len(listed) == 4 + 2
    assert all("/S2/" in line and "/retry" in line for line in listed[1:-1])
    entries = json.loads(shell("show", "run", "--failed", "--json").stdout)
    assert entries
    assert not any(entry["passed"] for entry in entries)

    name = max(entries, key=lambda entry: entry["faults"])["name"]
    replayed = shell("show", "run", name).stdout
    assert replayed.startswith(f"{name}\nasked: ")
    assert "     fault   " in replayed
    assert "\nverdict: failed" in replayed
    lines = [json.loads(line) for line in shell("show", "run", name, "--json").stdout.splitlines()]
    assert [line["line"] for line in lines] == ["step"] * (len(lines) - 1) + ["end"]

    assert shell("repro", "run", name).stdout == f"{name}: the same, {len(lines) - 1} steps, to the byte\n"
    assert json.loads(shell("repro", "run", name, "--json").stdout)["same"] is True


def test_json_is_the_report_and_nothing_else(shell):
    """With --json standard output is report.json, byte for byte, and standard error is empty."""
    ran = shell(*SMALL, "--out", "run", "--json")
    assert ran.stdout == Path("run/report.json").read_text()
    assert ran.stderr == ""
    assert json.loads(ran.stdout)["command"].startswith("breakfall bench --world store --tasks 4 --scenarios")


def test_an_agent_of_ones_own_from_the_current_directory(shell):
    """`--agent` runs beside the built-in ones, found where the user stands."""
    ran = shell(*SMALL, "--agents", "rules", "--agent", "mine:Agent", "--out", "run", "--json")
    assert {cell["agent"] for cell in json.loads(ran.stdout)["cells"]} == {"rules", "mine:Agent"}


def test_an_agent_that_raises_is_named_with_an_episode_to_look_at(shell):
    """Its error is shown once with the command that shows it; the run itself succeeds."""
    ran = shell(*SMALL, "--agents", "rules", "--agent", "mine:Broken", "--out", "run")
    assert "16 episodes of mine:Broken did not end by themselves: ValueError: out of ideas" in ran.stderr
    assert "(breakfall show run store/" in ran.stderr


def test_a_tampered_episode_is_told_apart(shell):
    """`repro` exits 1 and shows the first difference."""
    shell(*SMALL, "--agents", "give-up", "--scenarios", "CLEAN", "--out", "run")
    path = Path("run/segments/w0.jsonl")
    name = json.loads(shell("show", "run", "--json").stdout)[0]["name"]
    path.write_text(path.read_text().replace('"took_s":0.2', '"took_s":0.3'))
    assert "different. step 0: /took_s was 0.3, is now 0.2" in shell("repro", "run", name, code=1).stdout


def test_a_run_without_a_fault_is_inconclusive(shell):
    """S1 under a clean profile breaks nothing: exit 3, in words."""
    ran = shell(*SMALL, "--scenarios", "S1", "--profile", "clean", "--out", "run", code=3)
    assert "INCONCLUSIVE: no fault fired in the whole run" in ran.stderr


def test_a_clean_run_needs_no_fault(shell):
    """Whoever asks for CLEAN alone gets a pass, and is told that nothing was broken."""
    ran = shell(*SMALL, "--scenarios", "CLEAN", "--out", "run")
    assert ran.stderr == "no fault was asked for: CLEAN alone shows how the agents do while nothing breaks\n"


def test_json_is_pure_whatever_foreign_code_prints(shell):
    """What an agent says when imported, when it runs and through other processes goes to standard error alone."""
    ran = shell(*SMALL, "--agents", "loud:Talks", "--scenarios", "S1", "--out", "run", "--json")
    assert ran.stdout == Path("run/report.json").read_text()
    assert set(ran.stderr.splitlines()) == {"said at import", "said by Python", "said by a process"}
    name = next(iter(json.loads(shell("show", "run", "--json").stdout)))["name"]
    assert json.loads(shell("repro", "run", name, "--json").stdout)["same"] is True
    assert shell("show", "run", name).stdout.startswith(f"{name}\n")


def test_an_agent_that_exits_is_no_green_run(shell):
    """It exits with 0 in every episode, and the gate still fails; `show` and `repro` tell what it did."""
    Path("gate.toml").write_text('[[require]]\nmetric = "pass_rate"\nscenario = "CLEAN"\nmin = 0.5\n')
    words = ("--tasks", "1", "--seeds", "1", "--jobs", "1", "--agents", "mine:Exits", "--gate", "gate.toml")
    ran = shell("bench", *words, "--scenarios", "CLEAN", "--out", "run", code=1)
    assert "FAIL store/alternatives/CLEAN/mine:Exits pass_rate" in ran.stderr
    assert (
        "1 episode of mine:Exits did not end by itself: the agent's process died twice: it ended with exit code 0 "
        "(breakfall show run store/"
    ) in ran.stderr
    again = shell("repro", "run", "CLEAN", code=1)
    assert "no episode to compare: the agent's process died twice: it ended with exit code 0" in again.stdout


def test_limits_are_set_and_stand_in_the_command(shell):
    """`--set` reaches the episodes, and the printed command has it."""
    words = ("--tasks", "1", "--seeds", "1", "--agents", "mine:Hangs", "--scenarios", "S1")
    ran = shell("bench", *words, "--set", "limits.wall_s=0.2", "--out", "run", code=3)
    assert "--seeds 1 --set limits.wall_s=0.2" in ran.stdout
    assert "did not end by itself: the agent did not stop within 0.2 s" in ran.stderr


def test_what_ran_is_what_the_report_counts(shell):
    """Not applicable places of the matrix are no episodes: said apart, and the sum is the matrix."""
    words = ("--tasks", "30", "--seeds", "1", "--scenarios", "S2", "--set", "condition=native")
    ran = shell("bench", *words, "--out", "run")
    said = re.search(r"Ran (\d+) episodes in .* a second; (\d+) more are not applicable\.", ran.stdout)
    assert said
    report = json.loads(Path("run/report.json").read_text())
    assert int(said[1]) == report["episodes"]
    assert int(said[2]) == sum(row["episodes"] for row in report["not_applicable"])
    assert int(said[1]) + int(said[2]) == 30 * 4


def test_the_list_does_not_depend_on_the_workers(shell):
    """One worker or two: `show` prints the same."""
    shell(*SMALL, "--out", "one")
    shell(*SMALL[:-1], "2", "--out", "two")
    assert shell("show", "one").stdout == shell("show", "two").stdout


def test_a_terminal_without_unicode_gets_question_marks(shell, monkeypatch):
    """Characters that the terminal cannot show crash nothing."""
    monkeypatch.setenv("PYTHONIOENCODING", "ascii")
    assert "Ran 64 episodes" in shell(*SMALL, "--out", "run").stdout
    name = json.loads(shell("show", "run", "--failed", "--json").stdout)[0]["name"]
    shell("show", "run", name)


@pytest.mark.parametrize("command", ["show", "repro"])
def test_help_names_an_episode_that_a_default_run_has(shell, command):
    """Who copies the example after `make bench` finds the episode."""
    from breakfall.bench.matrix import Spec, expand

    name = re.search(rf"breakfall {command} runs/default (store\S+)", shell(command, "--help").stdout)[1]
    assert name in {key.id for unit in expand(Spec()) for key in unit.episodes()}


def test_a_bench_has_twelve_flags_at_most(shell):
    """What is asked for seldom is a setting, not a flag."""
    flags = re.findall(r"^  (--[a-z]+)", shell("bench", "--help").stdout, flags=re.MULTILINE)
    assert "--set" in flags
    assert len([flag for flag in flags if flag != "--help"]) <= 12


@pytest.mark.parametrize(("least", "code"), [(0.0, 0), (0.99, 1)])
def test_a_gate_decides_the_exit_code(shell, least, code):
    """Thresholds kept: 0; missed: 1; each is shown."""
    Path("gate.toml").write_text(
        f'[[require]]\nmetric = "pass_rate"\nagent = "give-up"\nscenario = "S1"\nmin = {least}\n'
    )
    ran = shell(*SMALL, "--out", "run", "--gate", "gate.toml", code=code)
    assert ("FAIL" if code else "PASS") in ran.stderr


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--world", "stor"), "breakfall: no world 'stor'; did you mean 'store'? (breakfall bench --help)\n"),
        (("--agents", "rulez"), "breakfall: no agent 'rulez'; did you mean 'rules'?"),
        (("--agent", "mine:Nobody"), "breakfall: agent 'mine:Nobody': module mine has no 'Nobody'\n"),
        (("--scenarios", "S5"), "breakfall: no scenario 'S5'; known: CLEAN, S1, S2, S3."),
        (("--profile", "papr"), "breakfall: no profile 'papr'; did you mean 'paper'?"),
        (("--profile", "broken.toml"), "breakfall: broken.toml: not TOML: "),
        (("--profile", "high.toml"), "breakfall: high.toml: kinds.timeout is 1.4, must be between 0 and 1\n"),
        (("--tasks", "many"), "breakfall: no split 'many'"),
        (("--seeds", "0"), "breakfall: --seeds is 0, must be at least 1\n"),
        (("--jobs", "0"), "breakfall: --jobs is 0, must be at least 1\n"),
        (("--seeds", "1000000000"), "breakfall: these are 16,000,000,000 episodes"),
        (("--tasks", "1000000000"), "breakfall: --tasks is '1000000000': there are 100,000 tasks to choose from"),
        (("--world", "json:JSONDecoder"), "breakfall: world 'json:JSONDecoder' is a JSONDecoder without name, "),
        (("--profile", "tool.toml"), "breakfall: no tool 'get_ordr'; did you mean 'get_order'? (tool.toml: tools.get"),
        (("--set", "limits.wall=5"), "breakfall: no setting 'limits.wall'; did you mean 'limits.wall_s'?"),
        (("--gate", "typo.toml"), "breakfall: typo.toml: require[0].agent: no agent 'rulez'; did you mean 'rules'?"),
        (("--gate", "missing.toml"), "breakfall: missing.toml: cannot read the gate file"),
    ],
)
def test_bad_input_is_one_line_and_exit_2(shell, words, says):
    """What is wrong is said in one line, without a traceback and before anything runs."""
    Path("broken.toml").write_text("kinds = {")
    Path("high.toml").write_text("kinds.timeout = 1.4")
    Path("tool.toml").write_text("[tools.get_ordr]\ntimeout = 0.5")
    Path("typo.toml").write_text('[[require]]\nmetric = "pass_rate"\nagent = "rulez"\nmin = 0.5\n')
    ran = shell("bench", *words, code=2)
    assert ran.stderr.startswith(says)
    assert ran.stderr.count("\n") == 1
    assert ran.stdout == ""
    assert not Path("runs").exists()


def test_a_folder_that_holds_no_run(shell):
    """`show` and `repro` say that there is nothing, and what makes something."""
    for words in (("show", "nothing"), ("repro", "nothing", "x")):
        assert "no run is stored here" in shell(*words, code=2).stderr


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--agent", "ruels"), "breakfall: no agent 'ruels'; did you mean 'rules'?"),
        (("--scenario", "S9"), "breakfall: no scenario 'S9'; known: CLEAN, S1, S2, S3."),
    ],
)
def test_show_refuses_what_the_run_does_not_have(shell, words, says):
    """A misspelled filter is an error with the nearest name, not an empty list."""
    shell(*SMALL, "--out", "run")
    assert shell("show", "run", *words, code=2).stderr.startswith(says)


def test_a_damaged_segment_exits_3(shell):
    """A ledger that cannot be read is exit 3, with the file and the line."""
    shell(*SMALL, "--out", "run")
    path = Path("run/segments/w0.jsonl")
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join([*lines[:3], "damage\n", *lines[3:]]))
    assert "run/segments/w0.jsonl: line 4 is damaged" in shell("show", "run", code=3).stderr


def test_a_full_disk_exits_3_and_the_rest_follows(shell):
    """Out of room: one line that says what to do; with room again the same command ends the run."""
    words = " ".join([str(BREAKFALL), *SMALL, "--out", "run"])
    ran = subprocess.run(["bash", "-c", f"ulimit -f 100; {words}"], capture_output=True, text=True)
    assert ran.returncode == 3, ran.stderr
    assert "Make room, then run the same command again to go on" in ran.stderr
    assert ran.stderr.count("\n") == 1
    assert " were settled already." in shell(*SMALL, "--out", "run").stdout


def test_ctrl_c_keeps_what_is_finished(shell):
    """An interrupted bench exits 130 in one line, and the same command goes on."""
    words = (*SMALL[:-1], "2", "--agents", "mine:Slow", "--out", "run")
    process = subprocess.Popen([BREAKFALL, *words], stderr=subprocess.PIPE, text=True)
    for _ in range(600):
        if any(path.stat().st_size > 1000 for path in Path("run").glob("segments/*.jsonl")):
            break
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130
    assert errors == "stopped; every finished episode is kept, and the same command goes on from there\n"
    assert " were settled already." in shell(*words).stdout


def test_a_terminal_gets_a_progress_bar(shell):
    """On a terminal standard error shows how many episodes of how many, and how fast."""
    parent, child = pty.openpty()
    words = [BREAKFALL, *SMALL[:-1], "2", "--agents", "mine:Slow", "--out", "run"]
    with subprocess.Popen(
        words, stdout=subprocess.DEVNULL, stderr=child, env={**os.environ, "TERM": "xterm"}
    ) as process:
        os.close(child)
        shown = b""
        while True:
            try:
                part = os.read(parent, 65536)
            except OSError:  # the other end is closed
                break
            if not part:
                break
            shown += part
    os.close(parent)
    assert process.returncode == 0
    assert b"/16" in shown
    assert b"episodes/s" in shown
