"""Isobit's C API for Python, from its headers: every public function with its types, every option struct, every constant.

Nothing is listed by hand. The C preprocessor gives the headers without comments and macros; what is left is regular
enough for a few patterns: a function is what `visibility("default")` stands before. `Library(path)` binds what it finds
in a shared library; isobit.py makes calls comfortable on top of it.
"""
import ctypes
import os
import pathlib
import re
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]

FUNCTION = re.compile(r'__attribute__\s*\(\(visibility\("default"\)\)\)\s*([^;{}]*?)\b(iso_\w+)\s*\(([^;{}]*)\)[^;(){}]*;')
STRUCT = re.compile(r"(?:typedef\s+)?struct\s+(iso_\w+)\s*\{([^{}]*)\}")
ENUM = re.compile(r"(?:typedef\s+)?enum\s*(iso_\w+)?\s*\{([^{}]*)\}")
DECLARATOR = re.compile(r"(?P<type>.*?)(?P<name>\b[A-Za-z_]\w*)?\s*(?P<array>\[[^]]*\])?$", re.S)
CALLBACK = re.compile(r"\(\s*\*\s*(\w+)\s*\)\s*[(\[]")  # and a pointer to rows, int64_t (*offsets)[2]

SCALARS = {
    "void": None, "bool": ctypes.c_bool, "_Bool": ctypes.c_bool, "char": ctypes.c_char, "int": ctypes.c_int, "unsigned": ctypes.c_uint,
    "long": ctypes.c_long, "float": ctypes.c_float, "double": ctypes.c_double, "size_t": ctypes.c_size_t,
    "int8_t": ctypes.c_int8, "int16_t": ctypes.c_int16, "int32_t": ctypes.c_int32, "int64_t": ctypes.c_int64, "uint8_t": ctypes.c_uint8,
    "uint16_t": ctypes.c_uint16, "uint32_t": ctypes.c_uint32, "uint64_t": ctypes.c_uint64,
}
WORDS = {"const", "struct", "enum", "volatile"}


class Type:
    """A parsed C type: its base name, how many pointers, whether what the innermost pointer shows is constant."""

    def __init__(self, text, library):
        tokens = re.findall(r"\w+|\*", text)
        self.pointers = tokens.count("*")
        before_star = tokens[:tokens.index("*")] if self.pointers else tokens
        self.const = "const" in before_star
        self.base = next((t for t in before_star if t not in WORDS), "int")
        self.is_struct = self.base in library.structs
        self.is_enum = self.base in library.enums
        self.is_scalar = self.base in SCALARS or self.is_enum
        self.ctype = self._ctype(library)

    def _ctype(self, library):
        if self.base == "char" and self.pointers == 1:
            return ctypes.c_char_p if self.const else ctypes.c_void_p
        if self.is_enum:
            base = ctypes.c_int
        elif self.base in SCALARS:
            base = SCALARS[self.base]
        elif self.is_struct:
            base = library.structs[self.base]
        else:  # opaque
            base = None
        if self.pointers == 0:
            return base
        if base is None or self.pointers > 1:
            return ctypes.c_void_p
        return ctypes.POINTER(base)


class Parameter:
    def __init__(self, text, library):
        callback = CALLBACK.search(text)
        if callback:
            self.name, self.array, self.type, self.ctype = callback[1], None, None, ctypes.c_void_p
            return
        found = DECLARATOR.match(text.strip())
        self.name, self.array = found["name"], found["array"]
        self.type = Type(found["type"] + ("*" if self.array else ""), library)
        self.ctype = self.type.ctype


class Function:
    def __init__(self, name, result, parameters, library):
        self.name, self.result = name, Type(result, library)
        self.parameters = [Parameter(p, library) for p in split(parameters) if p.strip() != "void"]
        self.pointer = getattr(library.dll, name, None)  # a header may be ahead of an older build
        if self.pointer is not None:
            self.pointer.restype = self.result.ctype
            self.pointer.argtypes = [p.ctype for p in self.parameters]


def split(text):
    """At commas outside parentheses."""
    parts, depth = [""], 0
    for c in text:
        depth += (c == "(") - (c == ")")
        if c == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += c
    return [p for p in parts if p.strip()]


class Library:
    """Every public function, struct and constant of the headers; `functions["iso_exp"].pointer` calls it."""

    def __init__(self, path=None, include=ROOT / "include"):
        path = path or os.environ.get("ISOBIT_LIBRARY") or ROOT / "build" / "release" / "libisobit.so"
        self.dll = ctypes.CDLL(str(path))
        # All of them, also one that isobit.h does not name yet.
        headers = sorted(h.relative_to(include) for h in pathlib.Path(include).rglob("*.h"))
        source = "".join(f"#include <{h}>\n" for h in headers)
        text = subprocess.run([os.environ.get("CC", "cc"), "-E", "-P", f"-I{include}", "-x", "c", "-"], input=source,
                              stdout=subprocess.PIPE, check=True, text=True).stdout
        self.enums, self.constants, self.structs = {}, {}, {}
        for name, body in ENUM.findall(text):
            self._enum(name, body)
        bodies = dict(STRUCT.findall(text))
        for name in bodies:
            self._struct(name, bodies)
        self.functions = {name: Function(name, result, parameters, self) for result, name, parameters in FUNCTION.findall(text)}

    def _enum(self, name, body):
        value, values = -1, {}
        for item in split(body):
            key, _, given = (part.strip() for part in item.partition("="))
            if not key.startswith("ISO_"):
                return  # another library's
            value = eval(given, {}, dict(self.constants)) if given else value + 1
            values[key] = self.constants[key] = value
        self.enums[name] = values

    def _struct(self, name, bodies):
        if name in self.structs:
            return
        struct = self.structs[name] = type(name, (ctypes.Structure,), {})
        struct.members, fields = {}, []
        for line in bodies[name].split(";"):
            if not line.strip():
                continue
            first, *more = split(line)
            head = re.match(r"\s*((?:(?:const|struct|enum|unsigned)\s+)*\w+)", first)[1]
            for text in [first] + [f"{head} {m}" for m in more]:
                base = next(w for w in re.findall(r"\w+", text) if w not in WORDS)
                if base in bodies and not CALLBACK.search(text):
                    self._struct(base, bodies)
                member = Parameter(text, self)
                ctype = member.ctype
                if member.array:
                    count = eval(member.array[1:-1], {}, dict(self.constants))
                    element = Type(DECLARATOR.match(text.strip())["type"], self)
                    member.type, ctype = element, element.ctype * count
                fields.append((member.name, ctype))
                struct.members[member.name] = member
        struct._fields_ = fields
