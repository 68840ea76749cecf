#!/usr/bin/env python3
"""The README's program is the example that is built and run, and it ends with the same bits."""
import pathlib
import re
import subprocess
import sys

root = pathlib.Path(__file__).resolve().parents[2]
shown = re.search(r"```c\n(.*?)```", (root / "README.md").read_text(), re.S)[1]
if shown != (root / "examples" / "train_mlp.c").read_text():
    sys.exit("README.md does not show examples/train_mlp.c as it is")
output = subprocess.run([str(root / "build" / "release" / "examples" / "train_mlp")], capture_output=True, text=True, check=True).stdout
if "the same bits" not in output:
    sys.exit(output)
print(output, end="")
