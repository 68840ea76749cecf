"""Isobit from Python, as thin as it gets: the conformance runners' and the benchmark's driver.

    with isobit.Context(threads=1) as iso:
        with iso.scope():
            x = iso.requires_grad(iso.tensor(torch.randn(2, 3)))
            y = iso.matmul(x, iso.permute(x, [1, 0]))        # iso_matmul(ctx, …)
            c = iso.conv2d(a, w, None, stride_h=2)           # keywords: members of the option struct
            values, index = iso.topk(x, 2, -1)               # results that a function fills are returned
            dx, = iso.gradients([y], [dy], [x])
            print(y.torch(), dx.torch())

A context has a method for every public function iso_<name> that the headers declare (capi.py); the context argument goes
in by itself. For the others:
    tensor            Tensor or None
    arrays            a list; a count `n`, `n_…` before one is filled in: iso.reshape(x, [2, -1]), iso.sum(x, [0], True), iso.cat([a, b], 0)
    option struct     None, a dict, or keywords that name its members (a member that is an array takes a list)
    enum              its value or the name of a constant, "ISO_PAD_REFLECT"; for a dtype also "f32" or torch.float32
    filled pointers   left out; returned after the result. A keyword of its name gives how many: iso.unbind(x, 0, 3, parts=3);
                      0: NULL
A failing call raises Error with the context's message.
"""
import contextlib
import ctypes

import numpy
import torch

import capi

DTYPES = {torch.float32: "f32", torch.float64: "f64", torch.float16: "f16", torch.bfloat16: "bf16", torch.int64: "i64", torch.int32: "i32",
          torch.uint8: "u8", torch.bool: "bool"}
NAMES = {name: dtype for dtype, name in DTYPES.items()}


class Error(RuntimeError):
    """A call failed; `status` is the code's name ("SHAPE_MISMATCH")."""

    def __init__(self, status, message):
        super().__init__(message)
        self.status = status


class Tensor:
    """A handle of a context. Dies with the scope it was made in."""

    def __init__(self, context, handle):
        self.context, self.handle = context, handle
        f = context.raw
        self.dtype = context.dtype_names[f["iso_tensor_dtype"](handle)]
        self.ndim = f["iso_tensor_n_dims"](handle)
        shape, strides = f["iso_tensor_shape"](handle), f["iso_tensor_strides"](handle)
        self.shape = tuple(shape[i] for i in range(self.ndim))
        self.strides = tuple(strides[i] for i in range(self.ndim))

    @property
    def numel(self):
        return int(numpy.prod(self.shape, dtype=numpy.int64))

    def torch(self):
        """A copy as a torch tensor on the CPU."""
        out = torch.empty(self.shape, dtype=NAMES[self.dtype])
        self.context.check(self.context.raw["iso_tensor_copy_to"](self.handle, out.data_ptr(), out.numel() * out.element_size()))
        return out

    def numpy(self):
        return self.torch().numpy()

    def item(self):
        return self.torch().item()

    def __repr__(self):
        return f"isobit {self.dtype} {self.shape} strides {self.strides}"


class Context:
    def __init__(self, library=None, threads=1, isa=None):
        self.library = library or capi.Library()
        self.raw = {name: f.pointer for name, f in self.library.functions.items() if f.pointer is not None}
        self.dtype_names = {value: key[4:].lower() for key, value in self.library.enums["iso_dtype"].items()}
        self.dtype_values = {name: value for value, name in self.dtype_names.items()}
        options = self.library.structs["iso_context_options"](n_threads=threads, isa=isa.encode() if isa else None)
        handle, message = ctypes.c_void_p(), ctypes.create_string_buffer(512)
        if self.raw["iso_context_new_message"](ctypes.byref(options), ctypes.byref(handle), ctypes.addressof(message), 512):
            raise Error("CONTEXT", message.value.decode())
        self.handle, self._borrowed = handle.value, [[]]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.raw["iso_context_free"](self.handle)
        self.handle = None

    @contextlib.contextmanager
    def scope(self):
        self.raw["iso_scope_push"](self.handle)
        self._borrowed.append([])
        try:
            yield self
        finally:
            self.raw["iso_scope_pop"](self.handle)
            self.raw["iso_clear_error"](self.handle)
            self._borrowed.pop()

    def check(self, status):
        if status:
            code = self.raw["iso_error_code"](self.handle) or status
            message = self.raw["iso_error_message"](self.handle).decode() or self.raw["iso_status_sentence"](status).decode()
            self.raw["iso_clear_error"](self.handle)
            raise Error(self.raw["iso_status_name"](code).decode(), message)

    # ---- tensors ----
    def tensor(self, value, dtype=None):
        """A numpy array or torch tensor of any strides, without a copy (it must stay alive for the scope; it does); other values: a copy."""
        if isinstance(value, numpy.ndarray):
            shape, strides, data = value.shape, [s // value.itemsize for s in value.strides], value.ctypes.data
            name = DTYPES.get(torch.from_numpy(numpy.empty(0, value.dtype)).dtype)
        else:
            if not isinstance(value, torch.Tensor):
                value = torch.tensor(value, dtype=NAMES[dtype] if dtype else None)
            value = value.detach().resolve_neg().resolve_conj()
            shape, strides, data, name = value.shape, value.stride(), value.data_ptr(), DTYPES.get(value.dtype)
        if name is None:
            raise Error("DTYPE_MISMATCH", f"Isobit has no dtype {value.dtype}")
        self._borrowed[-1].append(value)
        return self.tensor_wrap(name, list(shape), list(strides), data, None, None)

    def scalar(self, value, like):
        """A tensor without dimensions, of the dtype of `like` (a Tensor or a dtype's name)."""
        return self.tensor_full(like if isinstance(like, str) else like.dtype, [], float(value))

    def gradients(self, outputs, dys, inputs, create_graph=False):
        """iso_grad_of: a Tensor for each input, None where there is no dependence. The tape stays."""
        n = len(inputs)
        found = self.grad_of(outputs, dys, inputs, dict(retain_graph=True, create_graph=create_graph), grads=n)
        return [found] if n == 1 else list(found)

    # ---- calls ----
    def __getattr__(self, name):
        function = self.library.functions.get("iso_" + name)
        if function is None or function.pointer is None:
            raise AttributeError(f"Isobit has no iso_{name}")
        call = _Call(self, function)
        setattr(self, name, call)
        return call

    def has(self, name):
        return "iso_" + name in self.raw


class _Call:
    """One public function as a Python callable."""

    def __init__(self, context, function):
        self.context, self.function = context, function
        self.takes_context = bool(function.parameters) and function.parameters[0].type is not None and \
            function.parameters[0].type.base == "iso_context" and function.parameters[0].type.pointers == 1
        self.parameters = function.parameters[1:] if self.takes_context else function.parameters
        self.kinds = [_kind(p) for p in self.parameters]
        self.counts = [kind == "value" and p.type.pointers == 0 and (p.name == "n" or (p.name or "").startswith("n_"))
                       and i + 1 < len(self.kinds) and self.kinds[i + 1] in ("tensors", "numbers")
                       for i, (kind, p) in enumerate(zip(self.kinds, self.parameters))]

    def __call__(self, *positional, **named):
        given, c_arguments, held, outs = list(positional), [], [], []
        count = None
        for parameter, kind, is_count in zip(self.parameters, self.kinds, self.counts):
            if is_count:
                count = parameter
                c_arguments.append(None)
                continue
            if kind in ("out_tensor", "out_value"):
                n = named.pop(parameter.name, None)
                if n == 0:  # not wanted
                    c_arguments.append(None)
                    continue
                array = ((ctypes.c_void_p if kind == "out_tensor" else parameter.ctype._type_) * (1 if n is None else n))()
                outs.append((kind, n, array))
                c_arguments.append(ctypes.cast(array, ctypes.c_void_p) if kind == "out_tensor" else array)
                continue
            if kind == "options":
                value = named.pop(parameter.name, None) if parameter.name in named else given.pop(0) if given else None
                members = {k: named.pop(k) for k in list(named) if k in self.context.library.structs[parameter.type.base].members}
                c_arguments.append(self._struct(parameter.type.base, {**(value or {}), **members}, held) if value or members else None)
                continue
            if parameter.name in named:
                value = named.pop(parameter.name)
            elif given:
                value = given.pop(0)
            else:
                raise TypeError(f"{self.function.name}: {parameter.name} is missing")
            if count is not None:
                c_arguments[-1] = 0 if value is None else len(value)
                count = None
            c_arguments.append(self._convert(parameter, kind, value, held))
        if given or named:
            raise TypeError(f"{self.function.name} does not take {given or ''} {named or ''}")
        if self.takes_context:
            c_arguments.insert(0, self.context.handle)
        return self._results(self.function.pointer(*c_arguments), outs)

    def _results(self, result, outs):
        c, t = self.context, self.function.result
        results = []
        if t.base == "iso_status" and t.pointers == 0:
            c.check(result)
        elif t.base == "iso_tensor" and t.pointers == 1:
            if not result:
                c.check(c.raw["iso_error_code"](c.handle))
            results.append(Tensor(c, result) if result else None)
        elif t.ctype is ctypes.c_char_p:
            results.append(result.decode() if result is not None else None)
        elif t.ctype is not None:
            results.append(result)
        for kind, n, array in outs:
            values = [(Tensor(c, v) if v else None) if kind == "out_tensor" else v for v in array]
            results.append(values[0] if n is None or (n == 1 and len(outs) == 1 and not results) else values)
        if len(results) == 1:
            return results[0]
        return tuple(results) or None

    def _convert(self, parameter, kind, value, held):
        if kind == "tensor":
            return self._tensor(value)
        if kind == "tensors":
            if value is None:
                return None
            array = (ctypes.c_void_p * len(value))(*[self._tensor(v) for v in value])
            held.append(array)
            return ctypes.cast(array, ctypes.c_void_p)
        if kind == "numbers":
            return None if value is None else (parameter.ctype._type_ * len(value))(*value)
        if kind == "value":
            return self._value(parameter.type, value)
        return value

    def _tensor(self, value):
        if value is None:
            return None
        if not isinstance(value, Tensor):
            raise TypeError(f"{self.function.name}: {value!r} is no Tensor")
        return value.handle

    def _value(self, t, value):
        if t.base == "iso_dtype" and t.pointers == 0:
            if isinstance(value, torch.dtype):
                value = DTYPES.get(value) or f"{value}"
            if isinstance(value, str) and not value.startswith("ISO_"):
                if value not in self.context.dtype_values:
                    raise Error("DTYPE_MISMATCH", f"Isobit has no dtype {value}")
                return self.context.dtype_values[value]
        if isinstance(value, str):
            if t.is_enum:
                return self.context.library.constants[value]
            return value.encode()
        if t.ctype in (ctypes.c_double, ctypes.c_float):
            return float(value)
        return value

    def _struct(self, name, members, held):
        kind = self.context.library.structs[name]
        struct = kind()
        for key, value in members.items():
            member = kind.members.get(key)
            if member is None:
                raise TypeError(f"{self.function.name}: {name} has no member {key}")
            t = member.type
            if value is None:
                continue
            if member.array:
                setattr(struct, key, dict(kind._fields_)[key](*[self._value(t, v) for v in value]))
            elif t.base == "iso_tensor" and t.pointers == 1:
                setattr(struct, key, self._tensor(value))
            elif t.pointers == 1 and t.is_scalar and t.base != "char":
                array = (member.ctype._type_ * len(value))(*value)
                held.append(array)
                setattr(struct, key, ctypes.cast(array, member.ctype))
            elif t.pointers == 0 and t.is_struct:
                setattr(struct, key, self._struct(t.base, value, held))
            else:
                setattr(struct, key, self._value(t, value))
        held.append(struct)
        return struct


def _kind(p):
    """What a parameter is to the caller."""
    t = p.type
    if t is None or (t.base == "void") or (t.base == "char" and t.pointers == 1 and not t.const):
        return "raw"
    if t.base == "iso_tensor":
        if t.pointers == 1:
            return "tensor"
        return "tensors" if t.const else "out_tensor"
    if t.pointers == 1 and t.is_struct and t.const:
        return "options"
    if t.pointers == 1 and t.is_scalar and t.base != "char":
        return "numbers" if t.const else "out_value"
    if t.pointers == 0 or t.base == "char":
        return "value"
    return "raw"
