import msgspec
import pytest

from breakfall.bench import manifest
from breakfall.bench.matrix import Spec
from breakfall.errors import StoreError, UsageError

SPEC = Spec(tasks="2", seeds=1)


def test_a_manifest_is_read_as_it_was_written(tmp_path):
    """`run.json` holds everything that fixes the run."""
    described = manifest.describe(SPEC)
    manifest.write(tmp_path / "new" / "run", described)
    assert manifest.read(tmp_path / "new" / "run") == described
    assert manifest.differences(described, manifest.describe(SPEC)) == []


def test_equal_runs_have_one_digest_and_others_another():
    """Spec, profile, data and code decide the digest; how far a run got does not."""
    described = manifest.describe(SPEC)
    digest = manifest.digest(described)
    assert manifest.digest(msgspec.structs.replace(described, complete=True, wall_s=3.5)) == digest
    others = [
        manifest.describe(Spec(tasks="2", seeds=2)),
        manifest.describe(SPEC, manifest.describe(Spec(profile="storm")).profile),
        msgspec.structs.replace(described, data={"store": "other"}),
        msgspec.structs.replace(described, code="other"),
    ]
    assert len({digest, *map(manifest.digest, others)}) == 5


def test_a_changed_profile_file_is_a_difference(tmp_path):
    """The file's content counts, not its name alone."""
    path = tmp_path / "noise.toml"
    path.write_text("kinds.timeout = 0.1")
    before = manifest.describe(Spec(profile=str(path)))
    path.write_text("kinds.timeout = 0.2")
    assert manifest.differences(before, manifest.describe(Spec(profile=str(path)))) == ["profile's content"]


def test_a_manifest_tells_what_the_noise_was_by_a_digest(tmp_path):
    """The digest is of what the profile does: another name leaves it, another rate changes it."""
    digests = []
    for n, text in enumerate(("kinds.timeout = 0.1", 'name = "calm"\nkinds.timeout = 0.1', "kinds.timeout = 0.2")):
        path = tmp_path / f"{n}.toml"
        path.write_text(text)
        digests.append(manifest.describe(Spec(profile=str(path))).profile_digest)
    assert digests[0] == digests[1] != digests[2]
    assert manifest.describe(Spec()).profile_digest not in digests


def test_a_folder_without_a_run_is_a_usage_error(tmp_path):
    """The message says what makes one."""
    with pytest.raises(UsageError, match=r"no run is stored here \(no run\.json\); `breakfall bench --out` makes one"):
        manifest.read(tmp_path)


@pytest.mark.parametrize(
    ("content", "says"), [("{", "damaged"), ('{"format": 1}', "damaged: Object missing required field")]
)
def test_a_damaged_manifest_is_a_store_error(tmp_path, content, says):
    """What cannot be read is named, with what to do."""
    (tmp_path / manifest.NAME).write_text(content)
    with pytest.raises(StoreError, match=says):
        manifest.read(tmp_path)


def test_a_newer_manifest_is_refused(tmp_path):
    """A later format is not guessed at."""
    manifest.write(tmp_path, msgspec.structs.replace(manifest.describe(SPEC), format=2))
    with pytest.raises(StoreError, match="format 2, this breakfall reads up to 1"):
        manifest.read(tmp_path)
