#!/usr/bin/env python3
"""docs/operators.md is what the program prints, and every public operator that makes tensors has a row."""
import json
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = ROOT / "build" / "release" / "isobit"
DECLARATION = re.compile(r"ISO_API\s+(iso_tensor \*|iso_status )\s*iso_(\w+)\(([^;]*)\);")


def makers():
    """{name: header} of the functions that return a tensor or fill several."""
    found = {}
    for header in sorted((ROOT / "include/isobit/ops").glob("*.h")):
        for result, name, parameters in DECLARATION.findall(header.read_text()):
            if "*" in result or re.search(r"iso_tensor \*\*", parameters):
                found[name] = header.name
    return found


def main():
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "rows.json"
        subprocess.run([PROGRAM, "operators", "--json", path], check=True)
        topics = json.loads(path.read_text())["topics"]
    page = subprocess.run([PROGRAM, "operators", "--markdown"], check=True, capture_output=True, text=True).stdout
    wrong, rows = [], {}
    for topic in topics:
        for row in topic["operators"]:
            if row["name"] in rows:
                wrong.append(f"{row['name']} has two rows")
            rows[row["name"]] = topic["topic"]
            wrong += [f"{row['name']}: {key} is empty" for key in ("formula", "shapes", "dtypes", "class", "gradient") if not row[key]]
    made = makers()
    wrong += [f"iso_{name} ({made[name]}) has no DOC row" for name in sorted(set(made) - set(rows))]
    wrong += [f"the row {name} has no function iso_{name}" for name in sorted(set(rows) - set(made))]
    wrong += [f"iso_{name} is declared in {made[name]}, its row is of topic {rows[name]}" for name in sorted(set(rows) & set(made))
              if made[name] != f"{rows[name]}.h"]
    if page != (ROOT / "docs/operators.md").read_text():
        wrong.append("docs/operators.md is not what `isobit operators --markdown` prints")
    print("\n".join(wrong) or f"{len(rows)} operators have a row, and the page is as printed")
    return bool(wrong) or not rows


sys.exit(main())
