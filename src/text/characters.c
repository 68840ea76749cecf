/* characters.c: folds the steps of BertNormalizer (drop controls, set CJK apart, NFD, drop marks, lower case) and the
 * tests of BertPreTokenizer into one table of entries a code point. That is possible because each step but the
 * canonical ordering looks at one code point alone. Blocks of 256 that are all alike are shared, so most of the planes
 * cost nothing. */
#include "text/characters.h"
#include <string.h>
#include "text/unicode_tables.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* A table of ranges: rows of `width` numbers, first and last before the rest, ascending. */
typedef struct range_table {
  const uint32_t *rows;
  size_t n_rows, width;
} range_table;
#define TABLE(array, width) ((range_table){array, COUNT(array) / (width), (width)})
#define REMOVED TABLE(removed_ranges, 2)
#define SPACES TABLE(space_ranges, 2)
#define PUNCTUATION TABLE(punctuation_ranges, 2)
#define CHINESE TABLE(chinese_ranges, 2)
#define MARKS TABLE(mark_ranges, 2)
#define WORDS TABLE(word_ranges, 2)
#define CLASSES TABLE(class_ranges, 3)
#define LOWER TABLE(lower_ranges, 3)

enum { MOST_ITEMS = 8 };
enum { KEPT_BLOCK, DROPPED_BLOCK, LONE_BLOCK, N_SHARED_BLOCKS }; /* all entries alike */

static const uint32_t *find_range(range_table t, uint32_t c) {
  size_t low = 0, high = t.n_rows;
  while (low < high) {
    const size_t middle = (low + high) / 2;
    const uint32_t *row = t.rows + middle * t.width;
    if (c < row[0]) high = middle;
    else if (c > row[1]) low = middle + 1;
    else return row;
  }
  return NULL;
}

bool iso__is_word(uint32_t c) { return find_range(WORDS, c) != NULL; }
bool iso__is_space(uint32_t c) { return find_range(SPACES, c) != NULL; }

static uint32_t class_of(uint32_t c) {
  return find_range(SPACES, c) ? ISO__SPACE : find_range(PUNCTUATION, c) ? ISO__PUNCTUATION : ISO__IN_WORD;
}
static uint32_t combining_class(uint32_t c) {
  const uint32_t *row = find_range(CLASSES, c);
  return row ? row[2] : 0;
}
static uint32_t entry(uint32_t kind, uint32_t class, uint32_t payload) { return kind << 24 | class << 21 | payload; }

/* Rows of a table of sequences: a code point, their number, they. NULL: not in it. */
static const uint32_t *find_sequence(const uint32_t *rows, size_t n, uint32_t c) {
  for (size_t i = 0; i < n && rows[i] <= c; i += 2 + rows[i + 1])
    if (rows[i] == c) return rows + i + 1;
  return NULL;
}

/* ---- one code point ---- */

/* A code point of a decomposition as items: lower case may be several. */
static size_t lower_items(const iso__normal_rules *rules, uint32_t c, uint32_t order, uint32_t *items) {
  const uint32_t *several = rules->lowercase ? find_sequence(lower_sequences, COUNT(lower_sequences), c) : NULL;
  const uint32_t *row = rules->lowercase ? find_range(LOWER, c) : NULL;
  const size_t n = several ? several[0] : 1;
  for (size_t i = 0; i < n; i++) {
    const uint32_t out = several ? several[1 + i] : row ? c + row[2] : c;
    items[i] = order << 24 | class_of(out) << 21 | out;
  }
  return n;
}

/* All that the rules make of a code point that is not dropped at once, in items; the number of them. decomposed: a
 * sequence's number and its code points. */
static size_t items_of(const iso__normal_rules *rules, uint32_t c, const uint32_t *decomposed, uint32_t *items) {
  size_t n = 0;
  for (size_t i = 0; i < decomposed[0]; i++) {
    const uint32_t d = decomposed[1 + i], order = rules->strip_accents ? combining_class(d) : 0;
    if (rules->strip_accents && find_range(MARKS, d)) items[n++] = order << 24 | ISO__ITEM_DROPPED | d;
    else n += lower_items(rules, d, order, items + n);
  }
  if (n == 1 && rules->clean_text && class_of(c) == ISO__SPACE) items[0] = (uint32_t)ISO__SPACE << 21 | ' ';
  return n;
}

static bool add_sequence(iso_context *ctx, iso__characters *t, const uint32_t *items, size_t n) {
  if (!iso__grow(ctx, (void **)&t->sequences, &t->sequences_capacity, t->n_sequences + 1 + n, sizeof *t->sequences))
    return false;
  t->sequences[t->n_sequences++] = (uint32_t)n;
  memcpy(t->sequences + t->n_sequences, items, n * sizeof *items);
  t->n_sequences += n;
  return true;
}

static bool make_entry(iso_context *ctx, iso__characters *t, const iso__normal_rules *rules, uint32_t c,
                       const uint32_t *decomposed, uint32_t *out) {
  const uint32_t itself[2] = {1, c};
  uint32_t items[MOST_ITEMS];
  const size_t n = items_of(rules, c, decomposed && rules->strip_accents ? decomposed : itself, items);
  const uint32_t point = items[0] & 0x1FFFFF, order = items[0] >> 24, class = items[0] >> 21 & 3;
  if (n == 1 && items[0] & ISO__ITEM_DROPPED) *out = entry(ISO__MARK, 0, order);
  else if (n == 1 && order == 0 && rules->chinese && find_range(CHINESE, c)) *out = entry(ISO__LONE, class, point);
  else if (n == 1 && order == 0) *out = entry(point == c ? ISO__KEEP : ISO__CHANGE, class, point == c ? 0 : point);
  else return *out = entry(ISO__SEQUENCE, 0, (uint32_t)t->n_sequences), add_sequence(ctx, t, items, n);
  return true;
}

/* ---- the table ---- */

/* A block of entries that are all `value`. */
static bool add_block(iso_context *ctx, iso__characters *t, uint32_t value) {
  if (!iso__grow(ctx, (void **)&t->blocks, &t->blocks_capacity, t->n_blocks + 1, sizeof *t->blocks)) return false;
  for (size_t i = 0; i < 256; i++) t->blocks[t->n_blocks][i] = value;
  t->n_blocks++;
  return true;
}

static bool set_entry(iso_context *ctx, iso__characters *t, uint32_t c, uint32_t value) {
  uint16_t *block = &t->block_of[c >> 8];
  if (*block < N_SHARED_BLOCKS) {
    if (!add_block(ctx, t, t->blocks[*block][0])) return false;
    *block = (uint16_t)(t->n_blocks - 1);
  }
  t->blocks[*block][c & 255] = value;
  return true;
}

/* All code points of the ranges get the entry that fills a shared block. */
static bool set_ranges(iso_context *ctx, iso__characters *t, range_table ranges, uint16_t shared) {
  for (size_t i = 0; i < ranges.n_rows; i++) {
    const uint32_t *row = ranges.rows + i * ranges.width;
    for (uint32_t c = row[0]; c <= row[1]; c++) {
      if (c % 256 == 0 && c + 255 <= row[1]) t->block_of[c >> 8] = shared, c += 255;
      else if (!set_entry(ctx, t, c, t->blocks[shared][0])) return false;
    }
  }
  return true;
}

static bool make_ranges(iso_context *ctx, iso__characters *t, const iso__normal_rules *rules, range_table ranges) {
  uint32_t value;
  for (size_t i = 0; i < ranges.n_rows; i++)
    for (uint32_t c = ranges.rows[i * ranges.width]; c <= ranges.rows[i * ranges.width + 1]; c++)
      if (!make_entry(ctx, t, rules, c, NULL, &value) || !set_entry(ctx, t, c, value)) return false;
  return true;
}

static bool make_sequences(iso_context *ctx, iso__characters *t, const iso__normal_rules *rules, const uint32_t *rows,
                           size_t n, bool decompose) {
  uint32_t value;
  for (size_t i = 0; i < n; i += 2 + rows[i + 1])
    if (!make_entry(ctx, t, rules, rows[i], decompose ? rows + i + 1 : NULL, &value) ||
        !set_entry(ctx, t, rows[i], value))
      return false;
  return true;
}

/* Later steps set what earlier ones set, too; decompositions come after all that look at a code point itself. */
static bool fill(iso_context *ctx, iso__characters *t, const iso__normal_rules *rules) {
  bool ok = add_block(ctx, t, entry(ISO__KEEP, ISO__IN_WORD, 0)) && add_block(ctx, t, entry(ISO__DROP, 0, 0)) &&
            add_block(ctx, t, entry(ISO__LONE, ISO__IN_WORD, 0));
  if (rules->chinese) ok = ok && set_ranges(ctx, t, CHINESE, LONE_BLOCK);
  ok = ok && make_ranges(ctx, t, rules, SPACES) && make_ranges(ctx, t, rules, PUNCTUATION);
  if (rules->lowercase)
    ok = ok && make_ranges(ctx, t, rules, LOWER) &&
         make_sequences(ctx, t, rules, lower_sequences, COUNT(lower_sequences), false);
  if (rules->strip_accents) {
    ok = ok && make_ranges(ctx, t, rules, MARKS) && make_ranges(ctx, t, rules, CLASSES) &&
         make_sequences(ctx, t, rules, decompositions, COUNT(decompositions), true);
    for (uint32_t c = 0xAC00; ok && c <= 0xD7A3; c++) ok = set_entry(ctx, t, c, entry(ISO__SYLLABLE, ISO__IN_WORD, 0));
  }
  if (rules->clean_text) ok = ok && set_ranges(ctx, t, REMOVED, DROPPED_BLOCK);
  return ok;
}

static void fill_ascii(iso__characters *t) {
  memset(t->ascii_kind, ISO__NO_ASCII, sizeof t->ascii_kind);
  for (uint32_t c = 0; c < 128; c++) {
    const uint32_t e = iso__character(t, c), kind = iso__entry_kind(e);
    if (kind != ISO__KEEP && kind != ISO__CHANGE) continue;
    t->ascii_kind[c] = (uint8_t)iso__entry_class(e);
    t->ascii[c] = (uint8_t)(kind == ISO__KEEP ? c : iso__entry_point(e));
  }
}

bool iso__characters_build(iso_context *ctx, iso__characters *table, const iso__normal_rules *rules) {
  memset(table, 0, sizeof *table);
  if (!fill(ctx, table, rules)) return iso__characters_release(ctx->heap, table), false;
  fill_ascii(table);
  return true;
}

void iso__characters_release(iso__heap *heap, iso__characters *table) {
  iso__heap_free(heap, table->blocks, table->blocks_capacity * sizeof *table->blocks);
  iso__heap_free(heap, table->sequences, table->sequences_capacity * sizeof *table->sequences);
  table->blocks = NULL, table->sequences = NULL;
  table->blocks_capacity = table->sequences_capacity = 0;
}
