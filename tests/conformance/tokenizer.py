"""Isobit's tokenizer for Python, over ctypes (capi.py): what conformance and benchmarks compare with Hugging Face's."""
import ctypes

import capi


class Refused(Exception):
    """Isobit's error message."""


class Tokenizer:
    """A context of its own with so many threads, and the tokenizer of a path."""

    def __init__(self, path, threads=0, cased=False):
        self.library = capi.Library()
        self.ctx, options = ctypes.c_void_p(), self.library.structs["iso_context_options"](n_threads=threads)
        self.call("iso_context_new", options, ctypes.byref(self.ctx))
        self.handle = self.call("iso_tokenizer_open", self.ctx, str(path).encode(), self.library.structs["iso_tokenizer_options"](cased=cased))
        if not self.handle:
            message = self.call("iso_error_message", self.ctx).decode()
            self.close()
            raise Refused(message)

    def call(self, name, *arguments):
        return self.library.functions[name].pointer(*arguments)

    def close(self):
        self.call("iso_tokenizer_free", self.handle)
        self.call("iso_context_free", self.ctx)

    def texts(self, texts):
        """As the C call takes them; strings or bytes. Their memory lives as long as the array."""
        raw = [t if isinstance(t, bytes) else t.encode() for t in texts]
        array = (self.library.structs["iso_text"] * max(len(raw), 1))()
        for text, r in zip(array, raw):
            text.bytes, text.n_bytes = r, len(r)
        array.raw = raw
        return array

    def encode_array(self, array, n, offsets=True, no_special=False):
        """An iso_encodings; the caller frees it."""
        encodings = self.library.structs["iso_encodings"]()
        options = self.library.structs["iso_encode_options"](offsets=offsets, no_special=no_special)
        if self.call("iso_tokenizer_encode", self.ctx, self.handle, n, array, options, encodings) != 0:
            raise Refused(self.call("iso_error_message", self.ctx).decode())
        return encodings

    def free(self, encodings):
        self.call("iso_encodings_free", self.ctx, encodings)

    def encode(self, texts, no_special=False):
        """([ids], [(begin, end)]) of each text."""
        e = self.encode_array(self.texts(texts), len(texts), no_special=no_special)
        begin = e.begin[:len(texts) + 1]
        ids, flat = e.ids[:begin[-1]], ctypes.cast(e.offsets, ctypes.POINTER(ctypes.c_int64))[:2 * begin[-1]]
        self.free(e)
        pairs = list(zip(flat[::2], flat[1::2]))
        return [(ids[a:b], pairs[a:b]) for a, b in zip(begin, begin[1:])]
