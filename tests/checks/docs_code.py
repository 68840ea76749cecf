#!/usr/bin/env python3
"""Programs that the documentation shows whole compile without a warning, and print the same on one thread and on two."""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

root = pathlib.Path(__file__).resolve().parents[2]
library = root / "build" / "release"
WARNINGS = ["-Wall", "-Wextra", "-Wconversion", "-Wshadow", "-Werror"]


def output_of(program, folder, n_threads):
    environment = dict(os.environ, LD_LIBRARY_PATH=str(library), ISOBIT_STORE="none")
    return subprocess.run([program, str(n_threads)], cwd=folder, env=environment, capture_output=True, text=True, check=True).stdout


n = 0
for page in sorted((root / "docs").glob("*.md")):
    for source in re.findall(r"^```c\n(.*?)^```", page.read_text(), re.S | re.M):
        if "int main(" not in source:
            continue
        with tempfile.TemporaryDirectory() as folder:
            program = pathlib.Path(folder) / "program"
            program.with_suffix(".c").write_text(source)
            subprocess.run(["gcc", "-std=c17", "-O1", *WARNINGS, f"-I{root / 'include'}", str(program.with_suffix(".c")), "-o", str(program),
                            f"-L{library}", "-lisobit"], check=True)
            one, two = (output_of(program, folder, threads) for threads in (1, 2))
        if one != two or not one:
            sys.exit(f"{page.name}: one thread printed {one!r}, two threads {two!r}")
        print(f"{page.name}: {one}", end="")
        n += 1
if not n:
    sys.exit("no page shows a whole program")
