#!/usr/bin/env python3
"""C leaves the order in which a call's arguments are computed to the compiler. Two that record themselves on the tape
would take their places in either order, and a tensor that is used several times adds its gradients by place: so no call
in the library has more than one argument that calls an operator. Comparisons, which record nothing, may stand anywhere.
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
CALL = re.compile(r"\b([A-Za-z_]\w*)\(")
OPERATOR = re.compile(r"\b([a-z_]\w*)\((?:ctx|\w+->ctx)\s*,")
RECORD_NOTHING = set("iso_eq iso_ne iso_lt iso_le iso_gt iso_ge iso_isnan iso_isinf iso_isfinite iso_logical_and iso_logical_or "
                     "iso_logical_not iso__scalar iso__shape_text".split())


def arguments(text, at):
    """Those of the call whose parenthesis is at `at`."""
    found, depth, start = [], 0, at + 1
    for i in range(at, len(text)):
        if text[i] in "([{":
            depth += 1
        elif text[i] in ")]}":
            depth -= 1
            if depth == 0:
                return found + [text[start:i]]
        elif text[i] == "," and depth == 1:
            found.append(text[start:i])
            start = i + 1
    return found


def main():
    wrong, n_calls = [], 0
    for path in sorted((ROOT / "src").rglob("*.c")):
        text = re.sub(r"/\*.*?\*/", lambda m: re.sub(r"[^\n]", " ", m.group()), path.read_text(), flags=re.S)
        for call in CALL.finditer(text):
            if call.group(1) in ("if", "while", "for", "switch", "return"):
                continue
            n_calls += 1
            calling = [a for a in arguments(text, call.end() - 1) if set(OPERATOR.findall(a)) - RECORD_NOTHING]
            if len(calling) > 1:
                wrong.append(f"{path.relative_to(ROOT)}:{text.count(chr(10), 0, call.start()) + 1}: {call.group(1)} has "
                             f"{len(calling)} arguments that call operators: name them first")
    print("\n".join(wrong) or f"{n_calls} calls leave no operator's place to the compiler")
    return bool(wrong) or not n_calls


sys.exit(main())
