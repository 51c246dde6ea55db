"""The watchdog's verdicts on claims of every kind, each written once, each alerted once."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from breakfall.errors import StoreError, UsageError
from breakfall.ledger.check import check
from breakfall.ledger.retention import prune
from breakfall.ledger.verdict import Incident, StepVerdict, Trouble
from breakfall.ledger.watch_answer import Wording
from breakfall.ledger.writer import LedgerWriter
from breakfall.runtime.deliver import File
from breakfall.runtime.verifiers import Claim, Look, Looking, Registered, Verifier
from breakfall.runtime.watch import Settings, run_once
from breakfall.runtime.watch.settings import AlertSettings
from breakfall.vocab import Ok, Verification, VerificationStatus

START_S = 1_700_000_000.0
Make = Callable[..., Settings]
PASSED = VerificationStatus.PASSED


class TestEffects:
    def test_reread(self, scene: Any, note: Make, tmp_path: Path) -> None:
        """What a verifier finds is confirmed, what it does not find contradicted, the rest unverifiable."""
        (tmp_path / "notes/a").write_text("x")
        scene.step(0)
        scene.step(1, arguments={"name": "b"})
        scene.step(2, tool="other")
        scene.read(3)
        watch = scene.ticks(note())
        assert sorted(scene.verdicts(), key=lambda one: one[2]) == [
            ("confirmed", "reread", 0),
            ("contradicted", "reread", 1),
            ("unverifiable", "no_verifier", 2),
        ]
        said = next(one for one in scene.said() if one.n == 1)
        assert said.evidence.by == "file"
        assert said.evidence.asked == {"path": str(tmp_path / "notes/b")}
        assert scene.told == ["CONTRADICTED: step 1 of e (note): no such file"]
        assert watch.summary().counts == {"confirmed": 1, "contradicted": 1, "unverifiable": 1}
        assert [one.n for one in watch.summary().found] == [1]

    def test_not_before_it_settles(self, scene: Any, note: Make, tmp_path: Path) -> None:
        """A write gets its time, and a no is asked again before it is believed."""
        scene.step(0)
        watch = scene.ticks(note(), times=1, seconds=0)
        assert scene.verdicts() == []
        scene.clock.at_s += 2.5
        watch.tick()
        assert scene.verdicts() == []
        (tmp_path / "notes/a").write_text("x")
        scene.clock.at_s += 2.5
        watch.tick()
        assert scene.verdicts() == [("confirmed", "reread", 0)]

    def test_overwritten(self, scene: Any, note: Make) -> None:
        """Of two writes to one place only the later can be held against what is there now."""
        scene.step(0)
        scene.step(1)
        scene.ticks(note())
        assert sorted(scene.verdicts()) == [("contradicted", "reread", 1), ("unverifiable", "overwritten", 0)]

    def test_cannot_tell(self, scene: Any) -> None:
        """A verifier that fails is asked again, and then the write is unverifiable, which somebody should know."""
        asked = []

        def look(claim: Claim, looking: Looking) -> Look:
            asked.append(scene.clock())
            return looking.cannot_tell("the look-up got HTTP 401", status=401)

        verify = Verifier("http", lambda claim: {}, look)
        scene.step(0)
        watch = scene.ticks(Settings(tools={"note": Registered(verify=verify)}), times=6)
        assert len(asked) == 3
        assert scene.verdicts() == [("unverifiable", "reread", 0)]
        assert not watch.summary().clean

    def test_own_record(self, scene: Any, note: Make, tmp_path: Path) -> None:
        """A record that speaks against itself needs no verifier, for reads and writes."""
        (tmp_path / "notes/a").write_text("x")
        scene.step(0, observed_outcome=Ok(value={"message": "Bad credentials"}, status=401))
        scene.read(1, observed_outcome=Ok(value="", status=200))
        scene.step(2, observed_outcome=Ok(value={"succeeded": 3, "failed": 2}))
        scene.step(3, observed_outcome=Ok(value="HTTP 503 Service Unavailable"))
        scene.ticks(note())
        assert sorted(scene.verdicts(), key=lambda one: one[2]) == [
            ("contradicted", "status", 0),
            ("contradicted", "empty_body", 1),
            ("contradicted", "partial", 2),
            ("contradicted", "error_body", 3),
        ]


class TestVerifications:
    def claim(self, evidence: int | None) -> Verification:
        return Verification(status=PASSED, by="agent", method="look", evidence=evidence)

    def test_evidence(self, scene: Any, note: Make, tmp_path: Path) -> None:
        """A verification with its look-up stands; one without any, or with one that was never made, is fabricated."""
        (tmp_path / "notes/a").write_text("x")
        scene.read(1)
        scene.step(0, verification=self.claim(1), at_s=0.5)
        scene.step(2, verification=self.claim(9))
        scene.step(3, verification=self.claim(None))
        scene.ticks(note())
        fabricated = [one for one in scene.verdicts() if one[0] != "confirmed"]
        assert sorted(fabricated) == [("fabricated_verification", "evidence", n) for n in (2, 3)]

    def test_evidence_that_comes_later(self, scene: Any) -> None:
        """Evidence may be written after the claim, within the grace."""
        scene.step(0, verification=self.claim(1))
        watch = scene.ticks(Settings(grace_s=5.0), times=1, seconds=1.0)
        scene.read(1)
        scene.clock.at_s += 10
        watch.tick()
        assert scene.verdicts() == [("unverifiable", "no_verifier", 0)]

    def test_a_name_that_comes_back(self, scene: Any) -> None:
        """Where an episode's name was used twice, the evidence may be a step of either."""
        scene.read(1, arguments={"name": "z"})
        scene.step(0, verification=self.claim(1))
        scene.read(1)
        scene.ticks(Settings())
        assert scene.verdicts() == [("unverifiable", "no_verifier", 0)]


class TestAnswers:
    SETTINGS = Settings(wordings=(Wording(tool="note", pattern=re.compile(r"wrote (?P<name>\w+)")),))

    def test_fabricated_step(self, scene: Any) -> None:
        """An effect that the answer names and no step made is a fabricated step, with the words as evidence."""
        scene.step(0)
        scene.end("Done: wrote a, wrote b.")
        scene.ticks(self.SETTINGS)
        (one,) = [one for one in scene.said() if one.judgement == "fabricated_step"]
        assert (one.n, one.tool, one.arguments) == (None, "note", {"name": "b"})
        assert one.evidence.text == "wrote b"
        assert "wrote b" in scene.told[0]

    def test_what_is_there_all_the_same(self, scene: Any, note: Make, tmp_path: Path) -> None:
        """A fabricated step says what the verifier sees of the effect."""
        (tmp_path / "notes/b").write_text("x")
        scene.end("wrote b")
        settings = msgspec.structs.replace(note(), wordings=self.SETTINGS.wordings)
        scene.ticks(settings)
        (one,) = scene.said()
        assert (one.judgement, one.evidence.found["applied"]) == ("fabricated_step", "yes")

    def test_others_may_have_made_it(self, scene: Any) -> None:
        """Steps of the same run, and of agents that the episode called, bear an answer out."""
        scene.step(0, episode="earlier", run="talk")
        scene.step(0, arguments={"name": "b"}, episode="child", parent=0, parent_episode="e")
        scene.step(0, arguments={"name": "c"}, episode="grandchild", parent=0, parent_episode="child")
        scene.step(0, arguments={"name": "d"}, episode="stranger")
        scene.read(1, run="talk")
        scene.end("wrote a, wrote b, wrote c, wrote d")
        scene.ticks(self.SETTINGS)
        assert [one.arguments for one in scene.said() if one.judgement == "fabricated_step"] == [{"name": "d"}]

    def test_a_source_that_is_none(self, scene: Any) -> None:
        """A fact from a call that nobody made is a fabricated step."""
        scene.read(0)
        scene.end(facts={"total": 5}, sources={"total": "c7#/total"})
        scene.ticks()
        assert scene.verdicts() == [("fabricated_step", "source", None)]


class TestTroubles:
    def troubles(self, scene: Any) -> list[tuple[Trouble, str]]:
        return [(one.trouble, one.episode or one.agent) for one in scene.said() if isinstance(one, Incident)]

    def test_loop(self, scene: Any) -> None:
        """The same call with the same result is a loop after so many times, said once until it is left."""
        for n in range(7):
            scene.read(n)
        watch = scene.ticks()
        assert self.troubles(scene) == []
        for n in range(7, 20):
            scene.read(n)
        watch.tick()
        assert self.troubles(scene) == [(Trouble.LOOP, "e")]
        scene.read(20, arguments={"name": "b"})
        for n in range(21, 29):
            scene.read(n)
        watch.tick()
        assert self.troubles(scene) == [(Trouble.LOOP, "e")] * 2
        assert len(scene.told) == 1  # an equal alert went out a short while ago

    def test_stall(self, scene: Any) -> None:
        """An episode that is neither ended nor goes on is stalled; one that was ended, or closed in order, is not."""
        scene.read(0, episode="ended")
        scene.end(episode="ended")
        scene.read(0)
        watch = scene.ticks(Settings(stall_s=60.0), times=2, seconds=30.0)
        assert self.troubles(scene) == []
        scene.clock.at_s += 31
        for _ in range(3):
            watch.tick()
        assert self.troubles(scene) == [(Trouble.STALL, "e")]
        scene.read(1)
        scene.writer.close()
        scene.clock.at_s += 100
        watch.tick()
        assert self.troubles(scene) == [(Trouble.STALL, "e")]

    def test_silent(self, scene: Any) -> None:
        """An agent that should write and does not is silent: once per silence, and one that never wrote, too."""
        settings = Settings(heartbeat={"writer": 60.0, "nobody": 100.0})
        scene.read(0)
        watch = scene.ticks(settings, times=7, seconds=10.0)
        assert self.troubles(scene) == []
        for _ in range(3):
            watch.tick()
        assert self.troubles(scene) == [(Trouble.SILENT, "writer")]
        scene.read(1)
        scene.clock.at_s += 50.0
        watch.tick()
        assert self.troubles(scene) == [(Trouble.SILENT, "writer"), (Trouble.SILENT, "nobody")]
        scene.clock.at_s += 50.0
        watch.tick()
        assert self.troubles(scene)[2:] == [(Trouble.SILENT, "writer")]

    def test_lost_lines(self, scene: Any) -> None:
        """A segment that is shorter than it was is an incident of its own."""
        for n in range(3):
            scene.read(n)
        watch = scene.ticks(times=1)
        (path,) = (scene.folder / "segments").glob("*.jsonl")
        raw = path.read_bytes()
        path.write_bytes(raw[: raw.rindex(b'{"line":"step"')])
        watch.tick()
        watch.tick()
        assert self.troubles(scene) == [(Trouble.LINES_LOST, "")]

    def test_a_segment_that_is_gone(self, scene: Any) -> None:
        """A segment that somebody removed is an incident; one that was pruned on purpose is not."""
        scene.read(0, unix_s=START_S - 100 * 24 * 3600)
        scene.writer.close()
        watch = scene.ticks(times=1)
        assert len(prune(scene.folder, older_s=24 * 3600.0, now=scene.clock).dropped) == 1
        watch.tick()
        assert self.troubles(scene) == []
        with LedgerWriter(scene.folder, now=scene.clock) as scene.writer:
            scene.read(0)
        watch.tick()
        (path,) = (scene.folder / "segments").glob("2*.jsonl")
        path.unlink()
        watch.tick()
        watch.tick()
        assert self.troubles(scene) == [(Trouble.LINES_LOST, "")]


class TestLedger:
    def test_sound(self, scene: Any, note: Make) -> None:
        """The watchdog's lines stand in a chained segment of its own, and it changes no byte of others."""
        scene.step(0)
        before = {path: path.read_bytes() for path in (scene.folder / "segments").iterdir()}
        watch = scene.ticks(note())
        assert {path: path.read_bytes() for path in before} == before
        watch.close()
        scene.writer.close()
        checked = check(str(scene.folder))
        assert checked.sound
        assert checked.segments == 2

    def test_a_killed_writer_is_left_alone(self, scene: Any) -> None:
        """A torn line of a killed process is neither read nor mended."""
        scene.step(0)
        (path,) = (scene.folder / "segments").glob("*.jsonl")
        with path.open("ab") as file:
            file.write(b'{"line":"step","torn')
        raw = path.read_bytes()
        watch = scene.ticks()
        assert path.read_bytes() == raw
        assert len(scene.verdicts()) == 1
        assert watch.summary().damaged == 0

    def test_large_values(self, scene: Any) -> None:
        """Values that stand beside their line are judged whole."""
        errors = [{"id": n, "error": "no" * 300 if n == 4000 else None} for n in range(5000)]
        scene.step(0, observed_outcome=Ok(value={"results": errors}))
        scene.ticks()
        assert scene.verdicts() == [("contradicted", "partial", 0)]

    def test_one_watchdog_per_folder(self, scene: Any) -> None:
        """A second watchdog on the same folder is refused."""
        with scene.watch(), pytest.raises(UsageError, match="another watchdog watches this ledger"):
            scene.watch()

    def test_no_ledger(self, scene: Any) -> None:
        """A folder that is not there is refused, and none is made."""
        scene.folder = scene.folder / "none"
        with pytest.raises(UsageError, match="no ledger is here"):
            scene.watch()
        assert not scene.folder.exists()


class TestRestart:
    def test_nothing_twice(self, scene: Any, note: Make) -> None:
        """Begun anew, with its memory or without, the watchdog repeats no verdict and no alert."""
        scene.step(0)
        scene.step(1, verification=Verification(status=PASSED, by="agent"))
        scene.end(sources={"x": "c7#"})
        for _ in range(3):
            watch = scene.watch(note())
            for _ in range(3):
                watch.tick()
                scene.clock.at_s += 10
            watch.close()
        (scene.folder / "watch.db").unlink()
        scene.ticks(note())
        ids = [one.id for one in scene.said()]
        assert len(ids) == len(set(ids)) == 4
        assert len(scene.told) == 3

    @pytest.mark.parametrize("moment", ["append", "hold", "release", "close"])
    def test_killed_at_any_point(self, scene: Any, note: Make, moment: str) -> None:
        """Cut off before a verdict is written, after it, or anywhere else, nothing is lost and nothing said twice."""

        class Killed(BaseException):
            pass

        for n in range(3):
            scene.step(n, arguments={"name": f"x{n}"})
        settings = note()
        for after in (False, True):
            watch = scene.watch(settings)
            place = watch._place
            original = getattr(place, moment)

            def cut(*args: Any, after: bool = after, original: Any = original) -> Any:
                if after:
                    original(*args)
                raise Killed

            setattr(place, moment, cut)
            for _ in range(4):
                scene.clock.at_s += 10
                try:
                    watch.tick()
                except Killed:
                    break
            setattr(place, moment, original)
            watch._state.close()
            place.close()
        scene.ticks(settings)
        assert sorted(scene.verdicts(), key=lambda one: one[2]) == [("contradicted", "reread", n) for n in range(3)]


class TestMemory:
    def test_damaged(self, scene: Any) -> None:
        """A state that is none is refused with what to do, when it is opened and while it is used."""
        scene.step(0)
        watch = scene.ticks(times=1)
        watch._state.db.execute("DROP TABLE claim")
        with pytest.raises(StoreError, match=r"watch\.db: .* no such table: claim; make room, or remove it"):
            watch.tick()
        watch.close()
        (scene.folder / "watch.db").write_bytes(b"x" * 5000)
        with pytest.raises(StoreError, match=r"cannot be used as a watchdog's state: .* remove it to begin anew"):
            scene.ticks()

    def test_forgotten(self, scene: Any) -> None:
        """Evidence that is no longer remembered makes a verification unverifiable, not fabricated."""
        scene.read(1)
        watch = scene.ticks(times=1, seconds=4 * 24 * 3600.0)
        watch.tick()
        scene.step(2, verification=Verification(status=PASSED, by="agent", evidence=1))
        scene.clock.at_s += 10.0
        watch.tick()
        assert ("unverifiable", "evidence", 2) in scene.verdicts()


class TestAlerts:
    def settings(self, tmp_path: Path, **fields: Any) -> Settings:
        return Settings(alerts=AlertSettings(targets=(File(tmp_path / "alerts.jsonl"),), **fields))

    def alerts(self, tmp_path: Path) -> list[dict[str, Any]]:
        return [msgspec.json.decode(line) for line in (tmp_path / "alerts.jsonl").read_bytes().splitlines()]

    def test_equal_ones_once(self, scene: Any, tmp_path: Path) -> None:
        """Equal findings alert once in their time; the next alert says how many there were."""
        bad = Ok(value={"error": "expired"})
        settings = self.settings(tmp_path, again_s=100.0)
        watch = scene.ticks(settings, times=1)
        for n in range(5):
            scene.step(n, observed_outcome=bad)
            watch.tick()
            scene.clock.at_s += 10.0
        assert len(self.alerts(tmp_path)) == 1
        scene.clock.at_s += 100.0
        scene.step(5, observed_outcome=bad)
        watch.tick()
        assert "(4 more like it since the last alert)" in self.alerts(tmp_path)[1]["text"]

    def test_not_too_many(self, scene: Any, tmp_path: Path) -> None:
        """No more go out than so many a minute; the rest waits and is not lost."""
        for n in range(5):
            scene.step(n, episode=f"e{n}", observed_outcome=Ok(value={"error": "expired"}))
        watch = scene.ticks(self.settings(tmp_path, per_minute=2), times=1, seconds=0)
        for sent in (2, 2, 4, 4, 5):
            assert len(self.alerts(tmp_path)) == sent
            scene.clock.at_s += 30.0
            watch.tick()

    def test_the_hand_over(self, scene: Any, note: Make, tmp_path: Path) -> None:
        """An alert has the hand-over in it: what is done, what is not known, and what is safe to do."""
        (tmp_path / "notes/a").write_text("x")
        scene.step(0)
        scene.step(1, arguments={"name": "b"})
        settings = msgspec.structs.replace(note(), alerts=self.settings(tmp_path).alerts)
        scene.ticks(settings)
        (alert,) = self.alerts(tmp_path)
        handoff = alert["handoff"]
        assert [fact["call"] for fact in handoff["done"]] == ["c0"]
        assert [(fact["call"], fact["note"]) for fact in handoff["unknown"]] == [("c1", "step 1: contradicted")]
        assert handoff["reason"] == "CONTRADICTED: step 1 of e (note): no such file"
        assert {"do": "check_record", "tool": "note", "call": "c1"} in handoff["safe_next_actions"]

    def test_no_secrets(self, scene: Any, tmp_path: Path) -> None:
        """What came from the environment stands neither in the ledger nor in an alert, nor does any other secret."""
        from breakfall.runtime.verifiers import function

        def leak(**arguments: Any) -> Any:
            raise ConnectionError("refused for hunter2-token, password=letmein99")

        settings = Settings(
            tools={"note": Registered(verify=function(leak))},
            secrets=("hunter2-token",),
            looks=1,
            alerts=self.settings(tmp_path).alerts,
        )
        scene.step(0)
        watch = scene.ticks(settings)
        everything = str(scene.said()) + (tmp_path / "alerts.jsonl").read_text() + str(watch.summary())
        assert "refused for" in everything
        assert "hunter2" not in everything
        assert "letmein99" not in everything


def test_once(scene: Any, note: Make, tmp_path: Path) -> None:
    """One pass waits for what is not due yet, judges all that is there, and ends."""
    (tmp_path / "notes/a").write_text("x")
    scene.step(0)
    scene.step(1, arguments={"name": "b"})
    with scene.watch(note()) as watch:
        summary = run_once([watch], scene.clock, scene.clock.wait)
    assert summary.counts == {"confirmed": 1, "contradicted": 1}
    assert (summary.pending, summary.clean) == (0, False)
    found = summary.found[0]
    assert isinstance(found, StepVerdict)
    assert found.n == 1
    with scene.watch(note()) as watch:
        assert run_once([watch], scene.clock, scene.clock.wait).clean
