"""Reports of real runs over the toy world."""

import json
import shutil
from xml.etree import ElementTree

import msgspec
import pytest

from breakfall.bench import report
from breakfall.bench.run import run
from breakfall.errors import StoreError, UsageError
from breakfall.ledger.line import segment_paths
from breakfall.vocab import Scenario


@pytest.fixture
def folder(tmp_path, spec):
    run(spec(), tmp_path / "run")
    return tmp_path / "run"


def test_report_of_a_run(folder):
    """The three files are there, and the JSON is what `read` gives back; nothing of the machine is in it."""
    outcome = report.build(folder)
    report.write(outcome, folder)
    assert report.read(folder / "report.json") == outcome.report
    raw = json.loads((folder / "report.json").read_bytes())
    assert raw["format"] == 1
    assert {cell["scenario"] for cell in raw["cells"]} == {"CLEAN", "S1", "S2", "S3"}
    assert raw["fired"] > 0
    assert str(folder) not in (folder / "report.json").read_text()
    assert not list(folder.glob("*.tmp"))


def test_same_bytes_with_one_worker_and_two(tmp_path, spec):
    """The number of workers, and the order in which episodes were stored, leave no trace in any of the files."""
    for jobs, name in ((1, "one"), (2, "two")):
        run(spec(tasks="12"), tmp_path / name, jobs=jobs)
        report.write(report.build(tmp_path / name), tmp_path / name)
    assert len(segment_paths(tmp_path / "two")) == 2
    for file in (report.JSON, report.HTML, report.JUNIT):
        assert (tmp_path / "one" / file).read_bytes() == (tmp_path / "two" / file).read_bytes()


def test_the_profile_is_named_with_its_content(tmp_path, spec):
    """A profile's file is named as it was asked for, by its own name, and by the hash of what it held."""
    reports = []
    for n, rate in enumerate((0.2, 0.4, 0.4)):
        file = tmp_path / f"noise{n}.toml"
        file.write_text(f'name = "noise"\nbase = "clean"\n[kinds]\ntimeout = {rate}\n')
        run(spec(profile=str(file), tasks="1", seeds=1), tmp_path / str(n))
        report.write(report.build(tmp_path / str(n)), tmp_path / str(n))
        reports.append(report.read(tmp_path / str(n) / report.JSON))
    assert [one.profile for one in reports] == [str(tmp_path / f"noise{n}.toml") for n in range(3)]
    assert {one.profile_name for one in reports} == {"noise"}
    assert reports[0].profile_digest != reports[1].profile_digest == reports[2].profile_digest != ""
    assert reports[2].profile_digest in (tmp_path / "2" / report.HTML).read_text()


def test_every_template_is_found(folder):
    """Tasks are looked up by the world's name in the run, also for a world of one's own."""
    assert {row.name for row in report.build(folder).report.by_template} == {"number"}


def test_clean_run_fires_nothing(tmp_path, spec):
    """A run without scenarios that break anything says that nothing fired."""
    run(spec(scenarios=(Scenario.CLEAN,)), tmp_path)
    outcome = report.build(tmp_path)
    assert outcome.report.fired == 0
    assert all(cell.metrics["pass_rate"].value == 1.0 for cell in outcome.report.cells)


def test_junit_of_a_run(folder):
    """There is one test case per agent, scenario and task, and the counts add up."""
    report.write(report.build(folder), folder)
    root = ElementTree.parse(folder / "junit.xml").getroot()
    cases = list(root.iter("testcase"))
    assert len(cases) == int(root.get("tests", "")) == 4 * 4 * 6
    assert int(root.get("failures", "")) == len(list(root.iter("failure"))) > 0


def test_a_full_disk_is_named(folder):
    """A report that cannot be written names the file, and leaves no half of it."""
    outcome = report.build(folder)
    shutil.rmtree(folder)
    with pytest.raises(StoreError, match=r"report\.json: cannot be written"):
        report.write(outcome, folder)


def test_reading_what_is_no_report(tmp_path):
    """A missing, broken or newer report is refused with its path."""
    path = tmp_path / "report.json"
    with pytest.raises(UsageError, match="cannot be read"):
        report.read(path)
    path.write_text("{}")
    with pytest.raises(UsageError, match=r"report\.json: not a report\.json: .*missing required field"):
        report.read(path)


def test_newer_report_is_refused(folder):
    """A report of a later format is not half understood."""
    newer = msgspec.structs.replace(report.build(folder).report, format=report.FORMAT + 1)
    (folder / "report.json").write_bytes(report.encode(newer))
    with pytest.raises(UsageError, match="format 2, this breakfall reads up to 1"):
        report.read(folder / "report.json")
