"""Texts that tokenizers stumble over, by a seed: every kind of code point, marks out of order, ligatures, long words, special tokens."""
import random

MARKS = [*range(0x300, 0x370), 0x345, 0x5B0, 0x64B, 0x93C, 0x94D, 0x9CD, 0x1939, 0x193B, 0x3099, 0x309A, 0x1D167, 0x1D17B]
# Not all of these are dropped with the accents: their order shows.
KEPT_MARKS = [0x302E, 0x302F, 0x16FF0, 0x16FF1, 0x1D165, 0x1D166, 0x1D16D, 0x1D172, 0xBCD, 0x1B44, 0x1BAA, 0xA953, 0x111C0, 0x1D15E, 0x1D15F,
              0x1D160, 0x1D164, 0x1D1BB, 0x1D1C0, 0x903, 0xDD9, 0xDDD, 0xDDC, 0xBCA, 0x9CB, 0x1B06, 0x1112E, 0x11938]
PARTS = [
    "the", "running", "unaffable", "hello", "World", "don't", "foo", "Foo", "FOO", "[MASK]", "[CLS]", "[SEP]", "[mask]", "[UNK]", "[PAD]",
    "ISTANBUL", "\u0130stanbul", "\u0131", "\u1e9e", "\ufb01", "\ufb03", "\u01c4", "\u03a3\u03a3", "\u0391\u03a3", "\u212b", "\u2126",  # case, ligatures
    "\uac00\ub098", "\u1100\u1161\u11a8", "\ud7a3", "\U00020000", "\u4e2d\u6587", "\uf900", "\U0002f800", "\U0002ceb0", "\u3042", "\u30ac",
    "\u200d", "\ufe0f", "\U000e0100", "\U0001f468\u200d\U0001f469", "\U0001f1e9", "\ufffd", "\x00", "\x07", "\x7f", "\x85", "\xad", "\u200b", "\ufeff",
    "\t", "\n", "\r", "\x0b", "\x0c", "\x1c", "\xa0", "\u1680", "\u2000", "\u2028", "\u2029", "\u202f", "\u205f", "\u3000", " ", "  ",
    "\ue000", "\uf8ff", "\U000f0000", "\U0010ffff", "\u226e", "\u2260", "\u037e", "\u0387", "\u1fef", "'", '"', "\u2019", "\u00a1",
    "a" * 99, "b" * 100, "c" * 101, "\u00e9" * 100, "e\u0301" * 101, "d" * 250, "\u0344\u0323", "e\u0301\u0323", "\u0f71\u0f72", "\u0f73", "\u1f82",
    "\u0958", "\u2adc", "\ud800\udfff".encode("utf-16", "surrogatepass").decode("utf-16"),
]


def code_point(r):
    kind = r.random()
    if kind < 0.3:
        return r.randrange(32, 127)
    if kind < 0.4:
        return r.choice(MARKS)
    if kind < 0.5:
        return r.choice(KEPT_MARKS)
    low, high = r.choice([(0x80, 0x600), (0x600, 0x3000), (0x3000, 0xD800), (0xE000, 0x20000), (0xE000, 0x110000)])
    return r.randrange(low, high)


def text(r):
    kind = r.random()
    if kind < 0.3:
        return "".join(chr(code_point(r)) for _ in range(r.randrange(60)))
    if kind < 0.5:
        return "".join(chr(r.choice(MARKS + KEPT_MARKS)) for _ in range(r.randrange(40)))
    pieces = ([r.choice(PARTS)], [chr(code_point(r))], [r.choice(" ,.-[]")])
    return "".join(r.choice(r.choice(pieces)) for _ in range(r.randrange(20)))


def texts(seed, n):
    r = random.Random(seed)
    return [text(r) for _ in range(n)]


# ---- tokenizers, as tokenizer.json ----

def added(content, token_id, **flags):
    off = dict(single_word=False, lstrip=False, rstrip=False, normalized=False, special=False)
    return {"id": token_id, "content": content, **off, **flags}


def tokenizer(vocab, rules, extra=(), post_processor=None, **model):
    """rules: of BertNormalizer; extra: added tokens beside the special ones."""
    special = [added(t, vocab[t], special=True) for t in ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")]
    normalizer = dict(type="BertNormalizer", clean_text=True, handle_chinese_chars=True, strip_accents=None, lowercase=True)
    around = {t: {"id": t, "ids": [vocab[t]], "tokens": [t]} for t in ("[CLS]", "[SEP]")}
    template = dict(type="TemplateProcessing", single=[{"SpecialToken": {"id": "[CLS]", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}},
                                                       {"SpecialToken": {"id": "[SEP]", "type_id": 0}}],
                    pair=[{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}], special_tokens=around)
    settings = dict(type="WordPiece", unk_token="[UNK]", continuing_subword_prefix="##", max_input_chars_per_word=100)
    return {"version": "1.0", "truncation": None, "padding": None, "added_tokens": special + list(extra), "normalizer": {**normalizer, **rules},
            "pre_tokenizer": {"type": "BertPreTokenizer"}, "post_processor": post_processor or template, "decoder": None,
            "model": {**settings, **model, "vocab": vocab}}


def random_added(r, vocab, n, normalize):
    """n added tokens, some of them in the vocabulary, with flags by chance; no two alike once normalised (Hugging Face then takes either)."""
    contents = ["foo", "Foo", "[X]", " ", "the ", "\u4e2d", "e\u0301", "\xc9a", "a b", "ab", "  ", "x", "ing", "\u3000", "\u1100\u1161"]
    r.shuffle(contents)
    result, next_id, seen = [], len(vocab), {""}
    for content in contents[:n]:
        token_id = vocab.get(content)
        if token_id is None:
            token_id, next_id = next_id, next_id + 1
        flags = {name: r.random() < 0.45 for name in ("single_word", "lstrip", "rstrip", "normalized", "special")}
        flags["normalized"] &= normalize(content) not in seen
        seen |= {normalize(content)} if flags["normalized"] else set()
        result.append(added(content, token_id, **flags))
    return result
