"""The folder of a run: its settings are settings or refused, and nothing in it leads out of it."""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from attention_book.runs import RunError, RunFolder, RunSettings

SETTINGS = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
WHOLE = RunSettings().to_toml()
LINES = WHOLE.splitlines()
NAMES = [line.partition(" =")[0] for line in LINES if " =" in line]
WRITTEN = st.one_of(
    st.sampled_from(["-1", "0", "1e999", "nan", "9" * 400, "''", "[]", "{}", "[[0.9]]", "true"]),
    st.sampled_from(["1979-05-27", "'../x'", "['a', 'b', 'c']", "{a = {b = 1}}", "'\\u0000'"]),
    st.text(max_size=8),
)


pytestmark = pytest.mark.usefixtures("unchecked")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    return RunFolder(tmp_path_factory.mktemp("run"))


def read(folder: RunFolder, content: bytes) -> RunSettings | None:
    folder.settings_file.write_bytes(content)
    try:
        return folder.settings()
    except RunError as error:
        assert str(error).startswith(f"{folder.settings_file}: ")  # noqa: PT017
        return None


@SETTINGS
@given(st.binary(max_size=200) | st.text().map(lambda text: text.encode(errors="surrogatepass")))
@example(b"x = " + b"[" * 20_000)
@example(b"x = " + b"9" * 20_000)
@example(b"\xef\xbb\xbf" + WHOLE.encode())
@example(WHOLE.encode("utf-16"))
@example(b"model = 1\n")
@example(b"[model.config]\nd_model = 'x'\n")
@example(b"[model.config]\nd_model = 8.0\n")
@example(b"[model.config]\npositions = ['rotary']\n")
@example(b"[model.config]\nbos = 7\n")
@example(b"[model.config]\nsource_vocabulary = 7\n")
@example(b"[training]\nseed = 1.5\n")
def test_any_bytes_are_settings_or_refused(folder, content):
    read(folder, content)


@given(name=st.sampled_from(NAMES), value=WRITTEN)
@SETTINGS
def test_any_value_is_a_setting_or_refused(folder, name, value):
    at = next(n for n, line in enumerate(LINES) if line.startswith(f"{name} ="))
    text = "\n".join([*LINES[:at], f"{name} = {value}", *LINES[at + 1 :]])
    found = read(folder, text.encode(errors="surrogatepass"))
    if found is not None:  # then it is written and read again
        assert RunSettings.from_toml(found.to_toml()).to_toml() == found.to_toml()


@given(name=st.text(max_size=6), value=WRITTEN)
@SETTINGS
def test_any_setting_of_a_model_is_one_or_refused(folder, name, value):
    text = f"[model.config]\n{name} = {value}\n"
    read(folder, text.encode(errors="surrogatepass"))


# --- nothing leads out -----------------------------------------------------------------------


@pytest.mark.parametrize("name", ["checkpoints", "corpus", "corpus/train", "corpus/validation"])
def test_a_folder_that_is_a_link_is_refused(tmp_path, name):
    precious, run = tmp_path / "precious", RunFolder(tmp_path / "run")
    precious.mkdir()
    (precious / ".mine.part").write_text("mine")
    (run.path / name).parent.mkdir(parents=True)
    (run.path / name).symlink_to(precious)
    with pytest.raises(RunError, match=f"{name}: expected no link"), run.locked():
        pass
    assert [path.name for path in precious.iterdir()] == [".mine.part"]


def test_a_lock_that_is_a_link_empties_nothing(tmp_path):
    precious = tmp_path / "precious"
    precious.write_text("mine")
    run = RunFolder(tmp_path / "run")
    run.path.mkdir()
    (run.path / ".lock").symlink_to(precious)
    with pytest.raises(RunError, match=r"\.lock: expected no link"), run.locked():
        pass
    assert precious.read_text() == "mine"


def test_the_folder_itself_may_be_a_link(tmp_path: Path):
    (tmp_path / "disk").mkdir()
    (tmp_path / "run").symlink_to(tmp_path / "disk")
    with RunFolder(tmp_path / "run").locked():
        assert (tmp_path / "disk" / ".lock").exists()
