/* lock.c: lockfiles: parsed into lines that are found by problem, loaded into a context, written from the plans used.
 */
#include "plan/lock.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include "plan/file.h"
#include "plan/state.h"

enum { MAX_LOCK_BYTES = 64 << 20 };

/* ---- text to lines ---- */

/* Ends the text at the next `separator` and returns what follows; NULL: there is none. */
static char *cut(char *text, const char *separator) {
  char *at = strstr(text, separator);
  if (!at) return NULL;
  *at = '\0';
  return at + strlen(separator);
}

static bool is_name(const char *text) { return *text && !strpbrk(text, " \t"); }

static bool parse_revision(const char *text, int *revision) {
  if (!*text || strlen(text) > 8 || strspn(text, "0123456789") != strlen(text)) return false;
  *revision = atoi(text);
  return true;
}

/* "PROBLEM -> ENGINE@REVISION class CLASS ws SIZE", split in place; NULL or what is wrong. */
static const char *split_line(char *text, iso__lock_line *line) {
  char *plan = cut(text, " -> "), *class_name = plan ? cut(plan, " class ") : NULL;
  char *workspace = class_name ? cut(class_name, " ws ") : NULL, *revision = plan ? cut(plan, "@") : NULL;
  if (!workspace) return "expected PROBLEM -> ENGINE@REVISION class CLASS ws SIZE";
  if (!is_name(plan) || !revision || !parse_revision(revision, &line->revision))
    return "expected ENGINE@REVISION behind the arrow";
  if (!is_name(class_name) || !is_name(workspace)) return "expected class CLASS ws SIZE at the end";
  line->problem = text, line->engine = plan, line->class_name = class_name, line->workspace = workspace;
  return NULL;
}

/* The key is of the text as this build prints the problem; of the text itself where it can't read it. */
static void find_key(iso__lock_line *line) {
  _Alignas(16) unsigned char buffer[ISO__MAX_PROBLEM_BYTES];
  char why[320], text[ISO_PLAN_TEXT_BYTES];
  const bool is_known = iso__problem_read(line->problem, buffer, why, sizeof why) == ISO_OK;
  if (is_known) iso__problem_format((iso__problem *)buffer, text, sizeof text);
  const char *source = is_known ? text : line->problem;
  line->key = iso__hash_bytes(source, strlen(source));
}

static int by_key(const void *a, const void *b) {
  const iso__lock_line *x = a, *y = b;
  if (x->key.high != y->key.high) return x->key.high < y->key.high ? -1 : 1;
  if (x->key.low != y->key.low) return x->key.low < y->key.low ? -1 : 1;
  return (x->number > y->number) - (x->number < y->number);
}

static bool add_line(iso_context *ctx, const char *name, char *text, int number, iso__lock *lock) {
  iso__lock_line line = {.number = number};
  char copy[200];
  snprintf(copy, sizeof copy, "%s", text);
  const char *wrong = split_line(text, &line);
  if (wrong) return ISO__FAIL(ctx, ISO_CORRUPT, name, "line %d: %s: '%s'", number, wrong, copy), false;
  find_key(&line);
  void *lines = lock->line;
  if (!iso__grow(ctx, &lines, &lock->capacity, lock->n_lines + 1, sizeof line)) return false;
  lock->line = lines;
  lock->line[lock->n_lines++] = line;
  return true;
}

static bool parse_text(iso_context *ctx, const char *name, iso__lock *lock) {
  int number = 0;
  for (char *text = lock->text, *next; text; text = next) {
    next = cut(text, "\n");
    number++;
    if (number == 1) {
      if (!strcmp(text, ISO__LOCK_HEADER)) continue;
      return ISO__FAIL(ctx, ISO_CORRUPT, name, "line 1: expected '" ISO__LOCK_HEADER "': '%.80s'", text), false;
    }
    if (*text && *text != '#' && !add_line(ctx, name, text, number, lock)) return false;
  }
  return true;
}

static iso__hash hash_of(const iso__lock *lock) {
  iso__hash all = {0, 0};
  for (size_t i = 0; i < lock->n_lines; i++) { /* a chain: each hash covers the one before */
    const iso__lock_line *line = &lock->line[i];
    char text[256];
    snprintf(text, sizeof text, "%016llx%016llx%016llx%016llx %d %.60s %.60s", (unsigned long long)all.high,
             (unsigned long long)all.low, (unsigned long long)line->key.high, (unsigned long long)line->key.low,
             line->revision, line->engine, line->class_name);
    all = iso__hash_bytes(text, strlen(text));
  }
  return all;
}

/* ---- life ---- */

/* With room for a text of n bytes. */
static iso__lock *lock_new(iso_context *ctx, size_t n) {
  iso__lock *lock = iso__zalloc(ctx, sizeof *lock);
  char *text = lock ? iso__alloc(ctx, n + 1) : NULL;
  if (!text) return iso__free(ctx, lock, sizeof *lock), NULL;
  iso__heap_retain(ctx->heap);
  atomic_init(&lock->n_refs, 1);
  lock->heap = ctx->heap;
  lock->text = text;
  lock->n_text_bytes = n + 1;
  return lock;
}

void iso__lock_retain(iso__lock *lock) { atomic_fetch_add(&lock->n_refs, 1); }

void iso__lock_release(iso__lock *lock) {
  if (!lock || atomic_fetch_sub(&lock->n_refs, 1) > 1) return;
  iso__heap *heap = lock->heap;
  iso__heap_free(heap, lock->line, lock->capacity * sizeof *lock->line);
  iso__heap_free(heap, lock->text, lock->n_text_bytes);
  iso__heap_free(heap, lock, sizeof *lock);
  iso__heap_release(heap);
}

/* The lock's text is there: splits, sorts, hashes. Gives the lock back, or releases it and returns NULL. */
static iso__lock *lock_finish(iso_context *ctx, const char *name, iso__lock *lock) {
  const size_t n = lock->n_text_bytes - 1;
  lock->text[n] = '\0';
  if (memchr(lock->text, 0, n)) ISO__FAIL(ctx, ISO_CORRUPT, name, "a byte of its text is 0: this is no lockfile");
  else if (parse_text(ctx, name, lock)) {
    if (lock->n_lines) qsort(lock->line, lock->n_lines, sizeof *lock->line, by_key);
    lock->hash = hash_of(lock);
    return lock;
  }
  return iso__lock_release(lock), NULL;
}

iso__lock *iso__lock_parse(iso_context *ctx, const char *name, const void *bytes, size_t n) {
  iso__lock *lock = lock_new(ctx, n);
  if (!lock) return NULL;
  memcpy(lock->text, bytes, n);
  return lock_finish(ctx, name, lock);
}

iso__lock *iso__lock_open(iso_context *ctx, const char *path) {
  size_t n;
  const int fd = iso__file_open(path, &n);
  if (fd < 0) return ISO__FAIL(ctx, errno == ENOENT ? ISO_NOT_FOUND : ISO_IO, path, "%s", strerror(errno)), NULL;
  iso__lock *lock = NULL;
  if (n > MAX_LOCK_BYTES) ISO__FAIL(ctx, ISO_CORRUPT, path, "%zu bytes are more than a lockfile has", n);
  else lock = lock_new(ctx, n);
  const ssize_t got = lock ? iso__file_read(fd, lock->text, n) : 0;
  const int wrong = errno;
  close(fd);
  if (!lock) return NULL;
  if (got != (ssize_t)n) {
    ISO__FAIL(ctx, ISO_IO, path, "%s", got < 0 ? strerror(wrong) : "it became shorter while it was read");
    return iso__lock_release(lock), NULL;
  }
  return lock_finish(ctx, path, lock);
}

size_t iso__lock_find(const iso__lock *lock, const char *problem_text, const iso__lock_line **first) {
  const iso__lock_line wanted = {.key = iso__hash_bytes(problem_text, strlen(problem_text)), .number = 0};
  size_t low = 0, high = lock->n_lines; /* numbers start at 1: `wanted` sorts before all lines of its key */
  while (low < high) {
    const size_t middle = low + (high - low) / 2;
    if (by_key(&lock->line[middle], &wanted) < 0) low = middle + 1;
    else high = middle;
  }
  size_t n = 0;
  *first = lock->line + low;
  while (low + n < lock->n_lines && lock->line[low + n].key.low == wanted.key.low &&
         lock->line[low + n].key.high == wanted.key.high)
    n++;
  return n;
}

/* ---- for users ---- */

void iso__lock_use(iso_context *ctx, iso__lock *lock) {
  iso__plan_state *state = iso__plan_state_of(ctx);
  iso__lock_release(state->lock);
  state->lock = lock;
  state->warned_of_lock = false;
}

iso_status iso_lock_load(iso_context *ctx, const char *path) {
  if (iso__failed(ctx)) return iso_error_code(ctx);
  iso__lock *lock = NULL;
  if (path && !(lock = iso__lock_open(ctx, path))) return iso_error_code(ctx);
  iso__lock_use(ctx, lock);
  return ISO_OK;
}

bool iso_lock_hash(const iso_context *ctx, char hex[33]) {
  const iso__lock *lock = ctx ? iso__plan_state_of(ctx)->lock : NULL;
  hex[0] = '\0';
  if (lock) iso__hash_format(lock->hash, hex);
  return lock != NULL;
}

static int by_text(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

/* The lines in `text`, one behind the other with their ends 0, sorted and without repetitions into `out`. */
static size_t sort_lines(char *text, size_t n_lines, char **line, char *out) {
  for (size_t i = 0; i < n_lines; i++, text += strlen(text) + 1) line[i] = text;
  qsort(line, n_lines, sizeof *line, by_text);
  char *end = out + sprintf(out, "%s\n", ISO__LOCK_HEADER);
  for (size_t i = 0; i < n_lines; i++) {
    if (i && !strcmp(line[i], line[i - 1])) continue;
    const size_t n = strlen(line[i]);
    memcpy(end, line[i], n);
    end += n;
    *end++ = '\n';
  }
  return (size_t)(end - out);
}

/* Prints the plans used into text (NULL: only counts); the bytes with each line's end. */
static size_t print_used(const iso__plan_state *state, char *text) {
  size_t n_bytes = 0;
  for (size_t i = 0; i < state->n_used; i++) {
    iso_plan_use use;
    char line[ISO_PLAN_LINE_BYTES];
    iso__used_format(&state->used[i], &use);
    const size_t n = (size_t)iso_plan_use_format(&use, line, sizeof line) + 1;
    if (text) memcpy(text + n_bytes, line, n);
    n_bytes += n;
  }
  return n_bytes;
}

char *iso__lock_print(iso_context *ctx, size_t *n, size_t *n_block) {
  const iso__plan_state *state = iso__plan_state_of(ctx);
  const size_t n_text = print_used(state, NULL), n_list = (state->n_used + 1) * sizeof(char *);
  *n_block = n_text + sizeof ISO__LOCK_HEADER + 1;
  char *text = iso__alloc(ctx, n_text + 1), *out = iso__alloc(ctx, *n_block), **line = iso__alloc(ctx, n_list);
  if (text && out && line) print_used(state, text), *n = sort_lines(text, state->n_used, line, out);
  else iso__free(ctx, out, *n_block), out = NULL;
  iso__free(ctx, text, n_text + 1);
  iso__free(ctx, line, n_list);
  return out;
}

iso_status iso_lock_write(iso_context *ctx, const char *path) {
  size_t n, n_block;
  if (iso__failed(ctx)) return iso_error_code(ctx);
  if (iso__plan_state_of(ctx)->is_incomplete)
    return ISO__FAIL(ctx, ISO_STATE, path, "more plans were used than could be remembered (%d at most)", ISO__MAX_USED);
  char *text = iso__lock_print(ctx, &n, &n_block);
  if (text && !iso__file_replace(path, text, n, true)) ISO__FAIL(ctx, ISO_IO, path, "%s", strerror(errno));
  iso__free(ctx, text, n_block);
  return iso_error_code(ctx);
}
