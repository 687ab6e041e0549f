"""What pages and comments say of other files is so: citations of rules.md and api.md, the tests that reliability.md names, the
planted faults, the reviewed crates, and the tests that run only on the embedded engine."""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
# Documents that are not in the repository, as a line could cite them.
ELSEWHERE = re.compile(r"(?i)contract \d|rulings? \d|[(;] ?contract, |design, section")
# A test: a function after attributes, of which one says so.
TEST = re.compile(r"^ *#\[(?:\w+::)*test\b[^\n]*\n(?: *#[^\n]*\n)* *(?:async )?fn (\w+)\(", re.MULTILINE)
# The tests that need the embedded engine; all others also run on another DynamoDB (.ci/dynamodb). The reason is in the test.
NEED_THE_ENGINE = {
    ("tests/auth/account.rs", "a_login_takes_two_round_trips_and_a_new_account_four"),
    ("tests/budget.rs", "every_event_stays_within_the_round_trips_of_its_endpoint"),
    ("tests/payments/stripe_webhook.rs", "a_paid_webhook_reads_its_order_once_and_tries_nothing_again"),
}


def read(path):
    return (ROOT / path).read_text()


def files(*patterns):
    listed = ["git", "ls-files", "--cached", "--others", "--exclude-standard", *patterns]
    paths = subprocess.run(listed, cwd=ROOT, check=True, capture_output=True, text=True).stdout.split()
    return [path for path in paths if (ROOT / path).is_file() and path != ".ci/pages.py"]


def between(text, before, after):
    return text.split(before, 1)[1].split(after, 1)[0]


def rows(table):
    """The cells of the rows of a table, without its head."""
    lines = [line for line in table.splitlines() if line.startswith("| ")][1:]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def citations():
    """Comments cite headings of the two pages, and only what is in the repository."""
    pages = {page: set(re.findall(r"^#+ (.+?) *$", read(f"infra/docs/{page}"), re.MULTILINE)) for page in ("rules.md", "api.md")}
    count = 0
    for path in files("*.rs", "*.yaml", "*.md", "*.py"):
        text = read(path)
        for page, heading in re.findall(r'(rules\.md|api\.md), "([^"]*)"', text):
            count += 1
            if heading not in pages[page]:
                yield f"{path}: {page} has no heading {heading!r}"
        yield from (f"{path}: {line.strip()}" for line in text.splitlines() if ELSEWHERE.search(line))
    if count < 100:
        yield f"only {count} citations were found"


def promises():
    """Every promise of reliability.md names tests, which exist."""
    page = ROOT / "infra/docs/reliability.md"
    table = [line for line in between(page.read_text(), "## Promises", "\n## ").splitlines() if line.startswith("| ")][1:]
    if len(table) < 20:
        yield f"only {len(table)} promises were found"
    for row in table:
        links = re.findall(r"\[([^\]]*)\]\(([^)]*\.rs)\)", row)
        if not links:
            yield f"a promise without a test: {row}"
        for name, path in links:
            file = page.parent / path
            if not file.exists() or name not in TEST.findall(file.read_text()):
                yield f"{path} has no test {name}"


def planted():
    """A patch of code that has changed since proves nothing."""
    patches = sorted((ROOT / "tests/planted").glob("*.patch"))
    if len(patches) < 12:
        yield f"only {len(patches)} planted faults were found"
    for patch in patches:
        if not re.search(r"\nCaught-by: .*\bcargo test ", patch.read_text()):
            yield f"{patch.name} does not say which test catches it"
        if subprocess.run(["git", "apply", "--check", patch], cwd=ROOT, capture_output=True).returncode:
            yield f"{patch.name} does not apply any more"


def reviewed():
    """The versions that were reviewed are those in use."""
    page = read("infra/docs/supply-chain.md")
    locked = set(re.findall(r'name = "(.*)"\nversion = "(.*)"\nsource = ', read("Cargo.lock")))
    crates = rows(between(page, "<!-- review -->", "<!-- /review -->"))
    if len(crates) != 20:
        yield f"{len(crates)} crates were reviewed, not the 20 nearest to money and keys"
    for name, version, *_ in crates:
        if (name, version) not in locked:
            yield f"{name} {version} was reviewed; Cargo.lock has another"
        if page.count(f"\n| {name} |") < 2:
            yield f"supply-chain.md does not say what {name} is trusted with"


def engine():
    found = set()
    for path in files("tests/*.rs"):
        if path != "tests/harness/database.rs":
            parts = read(path).split("needs_embedded_engine(")[:-1]
            found |= {(path, re.findall(r"fn (\w+)\(", part)[-1]) for part in parts}
    yield from (f"{path}: {test} either needs the embedded engine or is listed" for path, test in found ^ NEED_THE_ENGINE)


if __name__ == "__main__":
    sys.exit("\n".join(fault for check in (citations, promises, planted, reviewed, engine) for fault in check()) or None)
