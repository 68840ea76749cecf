/* normalize.c: BertNormalizer, one pass over a text's code points. All but Unicode's canonical ordering is in the table
 * (characters.h); for that, a run of code points with combining classes waits until one of class 0 ends it. */
#include <string.h>
#include "text/encoder.h"

/* Which code point of the text a normalised one is from, where marks changed places: Hugging Face numbers the first
 * items of the code points of a run in the order they come out, and gives the other items the number before. */
static void order_pending(iso__encoder *e) {
  iso__pending *p = e->pending;
  const size_t n = e->n_pending;
  size_t at[257] = {0}, next_first = 0;
  for (size_t i = 0; i < n; i++) at[(p[i].item >> 24) + 1]++;
  for (size_t k = 0; k < 256; k++) at[k + 1] += at[k];
  for (size_t i = 0; i < n; i++) p[at[p[i].item >> 24]++].order = (uint32_t)i; /* counting sort: stable */
  for (size_t i = 0; i < n; i++) {
    const iso__pending *out = &p[p[i].order];
    if (out->index >= 0) {
      while (p[next_first].index < 0) next_first++;
      e->last_index = p[next_first++].index;
    }
    if (!(out->item & ISO__ITEM_DROPPED))
      iso__put_character(e, out->item & 0x1FFFFF, out->item >> 21 & 3, e->last_index);
  }
}

static void end_run(iso__encoder *e) {
  if (e->n_pending == 0) return;
  if (e->keeps_pending) order_pending(e);
  e->n_pending = 0, e->keeps_pending = false;
}

static void push_item(iso__encoder *e, uint32_t item, int64_t index) {
  if (item >> 24 == 0) {
    end_run(e);
    if (index >= 0) e->last_index = index;
    if (!(item & ISO__ITEM_DROPPED)) iso__put_character(e, item & 0x1FFFFF, item >> 21 & 3, e->last_index);
    return;
  }
  if (!iso__encoder_grow(e, (void **)&e->pending, &e->pending_capacity, e->n_pending + 1, sizeof *e->pending)) return;
  e->pending[e->n_pending++] = (iso__pending){.item = item, .index = index};
  e->keeps_pending |= !(item & ISO__ITEM_DROPPED);
}

/* One code point of class 0 from one. */
static void push_starter(iso__encoder *e, uint32_t c, uint32_t class, int64_t index) {
  end_run(e);
  e->last_index = index;
  iso__put_character(e, c, class, index);
}

static void push_syllable(iso__encoder *e, uint32_t c, int64_t index) {
  const uint32_t s = c - 0xAC00;
  push_starter(e, 0x1100 + s / 588, ISO__IN_WORD, index);
  iso__put_character(e, 0x1161 + s % 588 / 28, ISO__IN_WORD, index);
  if (s % 28) iso__put_character(e, 0x11A7 + s % 28, ISO__IN_WORD, index);
}

static void push_entry(iso__encoder *e, uint32_t entry, uint32_t c, int64_t index) {
  const uint32_t point = iso__entry_point(entry);
  switch (iso__entry_kind(entry)) {
  case ISO__KEEP: push_starter(e, c, iso__entry_class(entry), index); return;
  case ISO__CHANGE: push_starter(e, point, iso__entry_class(entry), index); return;
  case ISO__DROP: return;
  case ISO__MARK: push_item(e, point << 24 | ISO__ITEM_DROPPED, index); return;
  case ISO__LONE:
    push_starter(e, ' ', ISO__SPACE, index);
    iso__put_character(e, point ? point : c, iso__entry_class(entry), index);
    iso__put_character(e, ' ', ISO__SPACE, index);
    return;
  case ISO__SYLLABLE: push_syllable(e, c, index); return;
  default: {
    const uint32_t *items = e->characters->sequences + point;
    for (uint32_t i = 0; i < items[0]; i++) push_item(e, items[1 + i], i == 0 ? index : -1);
  }
  }
}

size_t iso__normalize_some(iso__encoder *e, const uint8_t *text, size_t i, size_t end, int64_t *index) {
  const iso__characters *table = e->characters;
  uint8_t kind = ISO__IN_WORD;
  while (i < end && kind != ISO__SPACE && kind != ISO__PUNCTUATION) {
    kind = table->ascii_kind[text[i]];
    const uint32_t c = iso__utf8_next(text, &i);
    push_entry(e, iso__character(table, c), c, (*index)++);
  }
  end_run(e);
  return i;
}

bool iso__normalize(iso_context *ctx, const iso__characters *characters, const char *bytes, size_t n_bytes, char **out,
                    size_t *n_out, size_t *capacity) {
  iso__encoder e = {.characters = characters, .heap = ctx->heap, .buffering = true};
  int64_t index = 0;
  for (size_t i = 0; i < n_bytes;) i = iso__normalize_some(&e, (const uint8_t *)bytes, i, n_bytes, &index);
  bool ok = e.status == ISO_OK;
  if (!ok) iso__fail_memory(ctx, e.status, e.n_wanted);
  ok = ok && iso__grow(ctx, (void **)out, capacity, *n_out + e.buffer.n, 1);
  if (ok && e.buffer.n > 0) memcpy(*out + *n_out, e.buffer.bytes, e.buffer.n), *n_out += e.buffer.n;
  iso__encoder_release(&e);
  return ok;
}
