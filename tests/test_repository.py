"""The repository keeps its promises: one place for each setting, links that lead somewhere."""

import ast
import doctest
import importlib.util
import re
import subprocess
import sys
import tomllib
from collections import Counter
from pathlib import Path

import pytest
import yaml
from offenders import no_offenders
from skipped import skipped_lines

import attention_book

ROOT = Path(__file__).resolve().parents[1]


def load_script(name):
    spec = importlib.util.spec_from_file_location(name, ROOT / "scripts" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def tracked_files():
    listing = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if listing.returncode:
        pytest.skip("not a git checkout")
    return [ROOT / line for line in listing.stdout.splitlines()]


@pytest.mark.parametrize("name", ["_config.yml", "_toc.yml"])
def test_the_top_level_settings_are_the_books(name):
    top, real = ROOT / name, ROOT / "book" / name
    if top.is_symlink():
        assert top.resolve() == real
    else:  # a checkout without symbolic links holds the target's path as text
        assert top.read_text(encoding="utf-8").strip() == f"book/{name}"


def test_addresses_in_texts_are_those_of_the_settings():
    assert load_script("sync_addresses").stale_files() == {}


def test_a_changed_address_is_found(tmp_path):
    sync = load_script("sync_addresses")
    (tmp_path / "book").mkdir()
    settings = (ROOT / "book/_config.yml").read_text(encoding="utf-8")
    at = sync.read_addresses(ROOT)
    moved = settings.replace(at.repository, "https://github.com/someone/elsewhere")
    (tmp_path / "book/_config.yml").write_text(moved, encoding="utf-8")
    for name in sync.FILES:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes((ROOT / name).read_bytes())
    stale = sync.stale_files(tmp_path)
    assert {path.relative_to(tmp_path).as_posix() for path in stale} == set(sync.FILES)
    assert all("someone/elsewhere" in text for text in stale.values())


def test_addresses_stand_nowhere_else():
    sync = load_script("sync_addresses")
    at = sync.read_addresses(ROOT)
    allowed = {ROOT / name for name in (*sync.FILES, "book/_config.yml")}
    for path in tracked_files():
        if path.resolve() in allowed:
            continue
        text = path.read_text(encoding="utf-8", errors="ignore") if path.is_file() else ""
        assert at.slug not in text, f"{path.relative_to(ROOT)} writes the repository's address"
        assert at.site not in text, f"{path.relative_to(ROOT)} writes the site's address"


def requirements(*extras):
    """Return the names of what the package needs, with these extras (all of them for none)."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    optional = project["optional-dependencies"]
    wanted, names = list(project["dependencies"]), set()
    for extra in extras or optional:
        wanted += optional[extra]
    while wanted:
        name, extras_of_ours = re.match(r"([\w.-]+)(?:\[(.*)\])?", wanted.pop()).groups()
        if name == "attention-book":
            wanted += [each for extra in extras_of_ours.split(",") for each in optional[extra]]
        else:
            names.add(name.lower().replace("_", "-"))
    return names


def test_every_requirement_is_pinned():
    pinned = {
        line.split("==")[0].lower().replace("_", "-")
        for line in (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
        if "==" in line
    }
    missing = requirements() - pinned
    assert not missing, f"not in constraints.txt: {sorted(missing)}"


def test_binder_installs_what_the_notebooks_need():
    conda = {"torch": "pytorch-cpu", "matplotlib": "matplotlib-base"}
    wanted = {conda.get(name, name) for name in requirements("all")}
    environment = yaml.safe_load((ROOT / "binder/environment.yml").read_text(encoding="utf-8"))
    installed = {re.match(r"[\w.-]+", str(each))[0] for each in environment["dependencies"]}
    assert wanted <= installed, f"not in binder/environment.yml: {sorted(wanted - installed)}"


def test_the_version_is_the_tags_and_the_cited_one_the_latest_release():
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert settings["project"]["dynamic"] == ["version"]
    assert any("setuptools-scm" in each for each in settings["build-system"]["requires"])
    cited = (str(citation["version"]), str(citation["date-released"]))
    assert re.findall(r"(?m)^## \[(\d.*)\] - (.*)$", changes)[0] == cited
    assert re.match(r"\d", attention_book.__version__)


CHANGES = "# Changelog\n\n## [Unreleased]\n\n- new\n\n## [0.1.0] - 2026-11-22\n\n- old\n"
CITED = "version: 0.1.0\ndate-released: 2026-11-22\n"


def test_a_release_is_cut():
    cut = load_script("cut_release").cut
    changes, citation = cut(CHANGES, CITED, "1.0.0", "2027-01-02")
    assert changes == CHANGES.replace("[Unreleased]", "[1.0.0] - 2027-01-02")
    assert citation == "version: 1.0.0\ndate-released: 2027-01-02\n"


@pytest.mark.parametrize(
    ("changes", "version"), [(CHANGES, "0.1.0"), (CHANGES, "0.0.9"), (CHANGES, "v1"), ("", "1.0.0")]
)
def test_what_is_no_release_is_refused(changes, version):
    with pytest.raises(ValueError, match=r"come after|such as|nothing unreleased"):
        load_script("cut_release").cut(changes, CITED, version, "2027-01-02")


@pytest.mark.parametrize(
    ("changes", "release"),
    [(CHANGES, ""), (CHANGES.replace("Unreleased", "1.0.0"), "1.0.0"), ("", ""), (None, "")],
)
def test_notebooks_install_the_release_while_nothing_is_unreleased(tmp_path, changes, release):
    sync = load_script("sync_addresses")  # it finds the extensions
    from website.notebooks import install_cell

    (tmp_path / "book").mkdir()
    (tmp_path / "book/_config.yml").write_bytes((ROOT / "book/_config.yml").read_bytes())
    if changes is not None:
        (tmp_path / "CHANGELOG.md").write_text(changes, encoding="utf8")
    at = sync.read_addresses(tmp_path)
    assert at.release == release
    cell = install_cell(at)
    if release:
        assert cell.index('"attention-book[all]~=1.0.0"') < cell.index('attention_book@v1.0.0"')
        assert "@main" not in cell
    else:
        assert f"@{at.branch}" in cell
        assert "~=" not in cell


@pytest.mark.parametrize("name", ["README.md", "README.zh.md", "CONTRIBUTING.md"])
def test_relative_links_lead_to_files(name):
    text = (ROOT / name).read_text(encoding="utf-8")
    links = re.findall(r"\]\((?!https?:)([^)#]+)\)", text)
    assert links or name == "CONTRIBUTING.md"
    for link in links:
        assert (ROOT / link).exists(), link


def test_both_readmes_show_the_same_commands():
    commands = [
        [
            line.split("#")[0].strip()
            for block in re.findall(
                r"(?s)```bash\n(.*?)```", (ROOT / name).read_text(encoding="utf-8")
            )
            for line in block.splitlines()
        ]
        for name in ("README.md", "README.zh.md")
    ]
    assert commands[0] == commands[1]
    assert "make book" in commands[0]
    assert "make test" in commands[0]


def test_continuous_integration_calls_the_readmes_test_command():
    assert re.search(r"(?m)^make test$", (ROOT / ".ci/run").read_text(encoding="utf-8"))


def workflow():
    return yaml.safe_load((ROOT / ".github/workflows/tests.yml").read_text(encoding="utf-8"))


def test_the_oldest_versions_that_are_promised_are_tested_and_told():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    [torch] = (r.removeprefix("torch>=") for r in project["dependencies"] if r.startswith("torch"))
    python = project["requires-python"].removeprefix(">=")
    runs = workflow()["jobs"]["unit"]["strategy"]["matrix"]["include"]
    assert {"python": python, "torch": f"torch=={torch}.*"} in runs
    assert any(run["torch"] == "torch" for run in runs), "the newest, whatever it is"
    binder = (ROOT / "binder/environment.yml").read_text(encoding="utf-8")
    assert f"pytorch-cpu>={torch}\n" in binder
    for name in ("README.md", "README.zh.md"):
        text = (ROOT / name).read_text(encoding="utf-8")
        assert re.search(rf"torch ?[(（]{re.escape(torch)} ", text), name
        assert f"Python {python} " in text, name


def test_nothing_is_published_before_every_test_has_passed():
    jobs = workflow()["jobs"]
    publishing = {"publish", "notebooks"}
    for job in publishing:
        wanted = set(jobs) - publishing - {"next", "elsewhere"}
        assert set(jobs[job]["needs"]) == wanted, "the other two promise nothing"
        assert jobs[job]["if"] == jobs["publish"]["if"]
    paths = sorted((ROOT / ".github/workflows").iterdir())
    deploying = [p.name for p in paths if "deploy-pages" in p.read_text(encoding="utf-8")]
    assert deploying == ["tests.yml"]
    assert "pages" not in workflow()["permissions"]


def test_actions_are_pinned_by_their_hash_and_the_forms_can_be_read():
    for path in (ROOT / ".github").rglob("*.yml"):
        text = path.read_text(encoding="utf-8")
        assert yaml.safe_load(text)
        for action in re.findall(r"uses: (\S+)", text):
            assert re.search(r"@[0-9a-f]{40}$", action), f"{path.name}: {action}"


def test_the_workflow_keeps_the_folder_that_the_build_keeps_its_outputs_in():
    [kept] = (
        step["with"]
        for step in workflow()["jobs"]["book"]["steps"]
        if step.get("uses", "").startswith("actions/cache@")
    )
    build, folder = kept["path"].rsplit("/", 1)
    execution = ROOT / "book/_ext/evidence/execution/keyed_execution.py"
    assert build == "book/_build"
    assert f'Outputs(build / "{folder}"' in execution.read_text(encoding="utf-8")
    assert all(name in kept["key"] for name in ("constraints.txt", "src/**", "book/**"))
    assert kept["key"].startswith(kept["restore-keys"])


def test_hooks_run_what_make_runs_with_the_tools_of_the_project():
    settings = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8"))
    [repository] = settings["repos"]
    assert repository["repo"] == "local"  # so that the versions are those of constraints.txt
    recipes = re.findall(
        r"(?m)^(?:lint|types): .*\n((?:\t.*\n)+)", (ROOT / "Makefile").read_text(encoding="utf-8")
    )
    wanted = {tool(line.strip()) for recipe in recipes for line in recipe.splitlines()}
    assert {tool(hook["entry"]) for hook in repository["hooks"]} == wanted
    assert all(hook["language"] == "system" for hook in repository["hooks"])
    assert {"ruff", "mypy"} <= requirements("test")  # and pinned, as every requirement is


def tool(command):
    """Return what a command runs in .venv: the program, and its subcommand or script."""
    found = re.match(r"(?:nice -n 19 )?(?:\$\(BIN\)|\.venv/bin)/(\w+(?: [\w./]+)?)", command)
    return found[1].removesuffix(" .")


@pytest.mark.parametrize("name", ["README.md", "README.zh.md"])
def test_each_snippet_runs_by_itself(name):
    """The kind: an example that leans on what stands above it. Each starts a new session."""
    text = (ROOT / name).read_text(encoding="utf-8")
    snippets = re.findall(r"```python\n(>>> .*?)```", text, re.DOTALL)
    assert len(snippets) >= 3
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    for number, snippet in enumerate(snippets, start=1):
        test = doctest.DocTestParser().get_doctest(snippet, {}, f"{name}, {number}", name, 0)
        assert runner.run(test).failed == 0


def test_every_check_looks_for_the_same_browsers(monkeypatch) -> None:
    """The kind: one of several lists of names, so that a check runs here and is skipped there."""
    browser = load_script("browser")
    for name in browser.NAMES:
        monkeypatch.delenv("CHROME_PATH", raising=False)
        here = {name: f"/bin/{name}", browser.NAMES[-1]: "/bin/last"}
        monkeypatch.setattr("shutil.which", here.get)
        assert browser.chromium() == here[name]
        monkeypatch.setenv("CHROME_PATH", "/opt/mine")
        assert browser.chromium() == "/opt/mine"
    monkeypatch.delenv("CHROME_PATH")
    monkeypatch.setattr("shutil.which", {}.get)
    assert browser.chromium() is None

    def asks_the_list(path: Path) -> None:
        text = path.read_text(encoding="utf-8")
        assert "CHROME_PATH" not in text
        assert not re.search(r"which\W+(chrom|google-chrome)", text)

    own = {ROOT / "scripts/browser.py", Path(__file__)}
    folders = [ROOT / name for name in ("scripts", "benchmarks", "tests", "src", "book/_ext")]
    found = [path for folder in folders for path in folder.rglob("*.py") if path not in own]
    no_offenders(asks_the_list, [*found, ROOT / ".ci/run", ROOT / "Makefile"])


@pytest.mark.parametrize("name", ["README.md", "README.zh.md"])
def test_what_tests_need_beside_python_is_told_where_one_begins(name) -> None:
    """The kind: tests that are skipped in a clean clone, and nothing says how to get them."""
    text = (ROOT / name).read_text(encoding="utf-8")
    skips = [
        match
        for path in (ROOT / "tests/site").glob("*.py")
        for match in re.findall(r'skip\("[^"]*: (npm[^"]*)"', path.read_text(encoding="utf-8"))
    ]
    assert skips
    assert all(cure in text for cure in skips)
    assert "chromium" in text
    assert "axe-core" in text
    locked = (ROOT / "audit/package-lock.json").read_text(encoding="utf-8")
    assert "node_modules/axe-core" in locked


def test_skipped_tests_are_told_in_one_line_each():
    reasons = ["Skipped: no chromium found: install it"] * 3 + ["Skipped: no corpora: set X"]
    assert skipped_lines(reasons) == [
        "3 tests skipped: no chromium found: install it",
        "1 test skipped: no corpora: set X",
    ]
    recipe = (ROOT / "Makefile").read_text(encoding="utf-8")
    told = re.search(r"(?m)^test: .*\n\t@cat (.*)$", recipe)[1].split()
    assert told == re.findall(r"BOOK_SKIPPED=(\S+) \$\(BIN\)/pytest", recipe)


def test_one_test_tells_of_all_that_offend():
    def check(number):
        assert number % 2, "even"

    no_offenders(check, (1, 3))
    with pytest.raises(AssertionError, match=r"2 of 5:\n2: even\n4: even"):
        no_offenders(check, range(1, 6))
    with pytest.raises(AssertionError, match="nothing to check"):
        no_offenders(check, ())


def test_tests_are_collected_in_one_order() -> None:
    """Two processes that share the tests must find the same names: no set gives them its order."""

    def one_order(path: Path) -> None:
        tree = ast.parse(path.read_text(encoding="utf-8"))
        values = {
            target.id: node.value
            for node in tree.body
            if isinstance(node, ast.Assign)
            for target in node.targets
            if isinstance(target, ast.Name)
        }
        for call in ast.walk(tree):
            if not (isinstance(call, ast.Call) and ast.unparse(call.func).endswith("parametrize")):
                continue
            cases = call.args[1]
            cases = values.get(cases.id, cases) if isinstance(cases, ast.Name) else cases
            drawn_from = [cases, *(e.value for e in ast.walk(cases) if isinstance(e, ast.Starred))]
            by_value = any(e.arg == "ids" and ast.unparse(e.value) == "str" for e in call.keywords)
            for each in ast.walk(cases) if by_value else drawn_from:
                assert not _has_no_order(each), f"line {call.lineno}: sorted, or with ids"

    no_offenders(one_order, sorted((ROOT / "tests").rglob("test_*.py")))


def _has_no_order(node: ast.AST) -> bool:
    """Whether it is a set, or what is left of one without another."""
    if isinstance(node, ast.BinOp):
        return _has_no_order(node.left)
    if isinstance(node, ast.Call):
        name = ast.unparse(node.func)
        copied = name in ("list", "tuple") and any(map(_has_no_order, node.args))
        return copied or name in ("set", "frozenset")
    return isinstance(node, ast.Set | ast.SetComp)


def test_modules_that_tests_import_have_different_names() -> None:
    """Every folder of tests is on the path: of two modules with one name a whole run sees one."""
    helpers = [path for path in (ROOT / "tests").rglob("*.py") if path.parent.name != "answers"]
    names = Counter(path.name for path in helpers)
    twice = {name for name, count in names.items() if count > 1}
    imports = re.compile(r"^from (test_\w+) import", re.M)
    imported = {
        f"{name}.py"
        for path in helpers
        for name in imports.findall(path.read_text(encoding="utf8"))
    }
    tests = {name for name in twice if name.startswith("test_")}
    assert twice - tests <= {"conftest.py", "__init__.py"}
    assert not tests & imported
