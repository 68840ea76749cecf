"""Reads what ONNX's node tests consist of: models and tensors in protocol-buffer files, from the archive as it is.

The wire format is a row of fields: a key (number·8 + type), then a varint, 8 bytes, a length with bytes, or 4 bytes
(https://protobuf.dev/programming-guides/encoding). Which numbers mean what: onnx.proto, of onnx 1.22.
"""
import struct

import torch

TENSOR_TYPES = {1: torch.float32, 2: torch.uint8, 3: torch.int8, 4: torch.uint16, 5: torch.int16, 6: torch.int32, 7: torch.int64,
                9: torch.bool, 10: torch.float16, 11: torch.float64, 12: torch.uint32, 13: torch.uint64, 14: torch.complex64,
                15: torch.complex128, 16: torch.bfloat16}


class Unreadable(Exception):
    """A value of a kind that is no tensor of numbers, or of a number format that torch has not."""


# ---- the wire format ----
def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value, at


def signed(value):
    return value - (1 << 64) if value >> 63 else value


def fields(data):
    """{number: [raw values]}: ints for varints, bytes for the others."""
    found, at = {}, 0
    while at < len(data):
        key, at = varint(data, at)
        kind = key & 7
        if kind == 0:
            value, at = varint(data, at)
        else:
            size, at = varint(data, at) if kind == 2 else ({1: 8, 5: 4}[kind], at)
            value = data[at:at + size]
            at += size
        found.setdefault(key >> 3, []).append(value)
    return found


def numbers(values, kind):
    """Repeated numbers, packed or not. kind: "i" varints, "f" or "d" of struct."""
    out = []
    for v in values:
        if isinstance(v, int):
            out.append(signed(v))
        elif kind == "i":
            at = 0
            while at < len(v):
                n, at = varint(v, at)
                out.append(signed(n))
        else:
            out += struct.unpack(f"<{len(v) // struct.calcsize(kind)}{kind}", v)
    return out


def text(f, number):
    return f[number][0].decode() if number in f else ""


# ---- messages ----
def tensor(data):
    f = fields(data)
    shape, kind = numbers(f.get(1, []), "i"), f.get(2, [0])[0]
    if kind not in TENSOR_TYPES:
        raise Unreadable(f"ONNX data type {kind}")
    dtype = TENSOR_TYPES[kind]
    if 9 in f:
        return torch.frombuffer(bytearray(f[9][0]), dtype=dtype).reshape(shape) if f[9][0] else torch.empty(shape, dtype=dtype)
    if dtype in (torch.float16, torch.bfloat16):
        return torch.tensor(numbers(f.get(5, []), "i"), dtype=torch.int32).to(torch.int16).view(dtype).reshape(shape)
    values = numbers(f[4], "f") if 4 in f else numbers(f[10], "d") if 10 in f else numbers(f.get(7) or f.get(5) or f.get(11) or [], "i")
    return torch.tensor(values, dtype=dtype).reshape(shape)


def attribute(data):
    f = fields(data)
    kind = f.get(20, [0])[0]
    if kind == 4 or (5 in f and not kind):
        value = tensor(f[5][0])
    elif kind == 1:
        value = numbers(f.get(2, [b"\0\0\0\0"]), "f")[0]
    elif kind == 2:
        value = numbers(f.get(3, [0]), "i")[0]
    elif kind == 3:
        value = f.get(4, [b""])[0].decode(errors="replace")
    elif kind == 6:
        value = numbers(f.get(7, []), "f")
    elif kind == 7:
        value = numbers(f.get(8, []), "i")
    elif kind == 8:
        value = [s.decode(errors="replace") for s in f.get(9, [])]
    else:
        value = Unreadable(f"attribute of type {kind}")
    return text(f, 1), value


class Node:
    def __init__(self, data):
        f = fields(data)
        self.inputs = [s.decode() for s in f.get(1, [])]
        self.outputs = [s.decode() for s in f.get(2, [])]
        self.operator, self.domain = text(f, 4), text(f, 7)
        self.attributes = dict(attribute(a) for a in f.get(5, []))


def is_tensor(value_info):
    """Whether a graph's input or output is a tensor: not a sequence, an optional, a map."""
    kinds = fields(fields(value_info).get(2, [b""])[0])
    return not kinds or 1 in kinds


class Model:
    def __init__(self, data):
        f = fields(data)
        graph = fields(f[7][0])
        if not all(map(is_tensor, graph.get(11, []) + graph.get(12, []))):
            raise Unreadable("sequences and optionals")
        self.nodes = [Node(n) for n in graph.get(1, [])]
        self.constants = {text(fields(t), 8): tensor(t) for t in graph.get(5, [])}
        self.inputs = [text(fields(v), 1) for v in graph.get(11, [])]
        self.outputs = [text(fields(v), 1) for v in graph.get(12, [])]
        self.opset = max([numbers(fields(o).get(2, [1]), "i")[0] for o in f.get(8, []) if not text(fields(o), 1)] or [1])
