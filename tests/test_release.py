"""A release says one version everywhere, and lists every extra that it has."""

import re
import tomllib
from importlib.metadata import metadata
from pathlib import Path

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def test_one_version():
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert re.search(r'^version: "(.+)"$', citation, re.MULTILINE)[1] == PROJECT["version"]
    assert (
        re.search(r"^## (\S+) \((unreleased|\d{4}-\d\d-\d\d)\)$", changes, re.MULTILINE)[1]
        == (PROJECT["version"])
    )


def test_versions_names_extras_and_lower_bounds():
    page = (ROOT / "docs" / "versions.md").read_text(encoding="utf-8")
    for extra in set(PROJECT["optional-dependencies"]) - {"docs", "test"}:
        assert f"| `{extra}` |" in page
    bounds = dict(one.split(">=") for one in PROJECT["dependencies"] if ">=" in one)
    told = [bounds[name] for name in ("numpy", "scipy", "scikit-learn")]
    assert "from {}, {} and {} on".format(*told) in page


def test_workflows_try_every_python_that_is_promised():
    named = " ".join(PROJECT["classifiers"])
    versions = re.findall(r"Python :: (3\.\d+)", named)
    workflow = (ROOT / ".github" / "workflows" / "test.yml").read_text(encoding="utf-8")
    assert f">={versions[0]}" == PROJECT["requires-python"]
    for version in versions:
        assert f'"{version}"' in workflow


def test_links_of_the_package_lead_into_the_repository():
    """Where it is listed, no files are beside README.md, whose links are relative."""
    text = metadata("graphdict").json["description"]
    links = re.findall(r"(!?)\[[^]]*\]\(([^)#]+)", text)
    assert links
    repository = PROJECT["urls"]["Repository"]
    for image, link in links:
        assert link.startswith("https://"), link
        if link.startswith(repository):
            place = f"{repository}/{'raw' if image else 'blob'}/v{PROJECT['version']}/"
            assert (ROOT / link.removeprefix(place)).exists(), link
