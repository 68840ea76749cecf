#!/usr/bin/env python3
"""What the pages say of the program agrees with its --help: commands, options, dials and variables exist, none is left out."""
import pathlib
import re
import subprocess
import sys

root = pathlib.Path(__file__).resolve().parents[2]
program = str(root / "build" / "release" / "isobit")
pages = [root / "README.md", *sorted((root / "docs").glob("*.md"))]
# Ours; pages also name other programs' variables.
OURS = re.compile(r"\bISOBIT_[A-Z_]+\b")


def words_of(*arguments):
    return subprocess.run([program, *arguments], capture_output=True, text=True).stdout


def help_of(command):
    words = command.split()
    if words[:2] == ["policy", "explain"] or words[:1] == ["lock"]:
        return words_of(words[0], "--help")
    return words_of(*words, "--help")


commands = set(re.findall(r"^  ([\w-]+(?: [\w-]+)?)  +\S", words_of("--help"), re.M)) | {"policy choose", "policy explain"}
sources = "".join(p.read_text() for folder in ("include", "src", "tests") for p in (root / folder).rglob("*.[ch]"))
faults, n = [], 0
for page in pages:
    text = page.read_text()
    calls = re.findall(r"^    (?:\S*/)?isobit (.*)$", text, re.M) + [c.replace("\n", " ") for c in re.findall(r"`isobit ([^`]*)`", text)]
    for call in calls:
        call = call.split("#")[0].split("&&")[0].strip()
        command = next((c for c in sorted(commands, key=len, reverse=True) if f"{call} ".startswith(f"{c} ")), None)
        command = command or next((c for c in commands if c.split()[0] == call), None)  # "isobit compare", of "compare vision"
        if call.startswith(("COMMAND", "--")):
            continue
        if not command:
            faults.append(f"{page.name}: there is no command: isobit {call}")
            continue
        known = help_of(command)
        if " -- " in call:  # the words behind are a job of their own
            call, job = call.split(" -- ", 1)
            known += help_of(" ".join(job.split()[:2]))
            call = f"{call} {job}"
        for option in re.findall(r"(?<=\s)--[a-z-]+", call):
            if not re.search(rf"^  {option}\b", known, re.M) and option != "--help":
                faults.append(f"{page.name}: isobit {command} has no {option}")
        for setting in re.findall(r"--set (\S+)", call):
            for dial in setting.split(","):
                if subprocess.run([program, "policy", "explain", dial.split("=")[0]], capture_output=True).returncode:
                    faults.append(f"{page.name}: there is no dial {dial}")
        n += 1
    faults += [f"{page.name}: nothing reads {name}" for name in set(OURS.findall(text)) if name not in sources]
readme = (root / "README.md").read_text()
faults += [f"README.md does not show isobit {c}" for c in commands if f"isobit {c}" not in readme and c != "policy explain"]
faults += [f"README.md does not link {p.relative_to(root)}" for p in pages[1:] if f"({p.relative_to(root)})" not in readme]
if faults or not n:
    sys.exit("\n".join(faults or ["no page shows a command"]))
print(f"{n} commands in {len(pages)} pages are as --help says")
