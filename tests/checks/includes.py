#!/usr/bin/env python3
"""Includes go one way: a room may include itself and the rooms listed here, transitively; the program sees public headers only."""
import pathlib
import re
import sys

SEES = {
    "base": [],
    "numeric": ["base"],
    "policy": ["base"],
    "device": ["numeric"],
    "tensor": ["numeric", "device"],
    "plan": ["numeric", "policy", "device"],
    "kernels": ["tensor", "plan"],
    "autograd": ["tensor"],
    "ops": ["kernels", "autograd"],
    "nn": ["ops"],
    "optim": ["ops", "nn"],
    "io": ["tensor"],
    "data": ["tensor", "io"],
    "text": ["tensor", "io", "data"],
    "pretrained": ["nn", "io", "text"],
    "train": ["pretrained", "nn", "optim", "data", "io", "text"],
    "deploy": ["train"],
    "cli": [],
}
# The room a public header belongs to; ops.h also declares the calls of autograd, the lower of its two rooms.
PUBLIC_ROOM = {"base": "base", "numeric": "numeric", "policy": "policy", "device": "device", "tensor": "tensor", "plan": "plan", "trace": "device", "ops": "autograd", "precision": "autograd", "capture": "ops",
               "nn": "nn", "sequence": "nn", "pretrained": "pretrained", "io": "io", "data": "data", "text": "text", "train": "train", "predict": "train", "compare": "train", "session": "deploy"}
INCLUDE = re.compile(r'^\s*#\s*include\s*(["<])([^">]+)[">]', re.M)


def closure(room):
    seen, todo = set(), [room]
    while todo:
        r = todo.pop()
        if r not in seen:
            seen.add(r)
            todo += SEES[r]
    return seen


def main():
    root = pathlib.Path(__file__).resolve().parents[2]
    wrong, n = [], 0
    for path in sorted((root / "src").rglob("*")):
        if path.suffix not in (".c", ".h", ".def", ".cu", ".cuh"):
            continue
        room = path.relative_to(root / "src").parts[0]
        if room not in SEES:
            wrong.append(f"{path.relative_to(root)}: room '{room}' is not in the list")
            continue
        allowed = closure(room)
        for mark, name in INCLUDE.findall(path.read_text()):
            parts = pathlib.PurePosixPath(name).parts
            public = parts[0] == "isobit"
            if mark == "<" and not public:
                continue
            n += 1
            if room == "cli":
                ok = public or (mark == '"' and (path.parent / name).exists())
            elif public:
                ok = parts[1] == "isobit.h" and room == "train" or PUBLIC_ROOM.get(parts[1].removesuffix(".h")) in allowed
            elif len(parts) == 1:
                ok = (path.parent / name).exists()
            else:
                ok = parts[0] in allowed
            if not ok:
                wrong.append(f"{path.relative_to(root)} includes {name}: '{room}' may see {', '.join(sorted(allowed))}")
    print("\n".join(wrong) or f"{n} includes go one way")
    return bool(wrong) or n == 0


sys.exit(main())
