/* einsum.c: Einstein's summation: letters are axes; operands are joined from left to right by batched matrix products.
 *
 * Each axis of an operand has a label: a letter, or a place in the ellipsis, counted from its end as broadcasting does.
 * Before a product, labels that only one side has and nobody needs later are summed; then both sides become (batch,
 * free, joined), three axes each, and iso_matmul does the rest. What is computed is a composition of operators. */
#include "ops/ops.h"

enum { LETTERS = 52, N_LABELS = LETTERS + ISO_MAX_DIMS, MAX_TERMS = 16 };

/* The labels of one operand, or of the result, in the order of its axes. */
typedef struct term {
  int n, label[ISO_MAX_DIMS];
} term;

static int letter_of(char c) { return c >= 'A' && c <= 'Z' ? c - 'A' : c >= 'a' && c <= 'z' ? c - 'a' + 26 : -1; }
static int find(const term *t, int label) {
  for (int i = 0; i < t->n; i++)
    if (t->label[i] == label) return i;
  return -1;
}

/* ---- reading the equation ---- */

static bool refuse(iso_context *ctx, const char *equation, const char *why, long long number) {
  ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, "einsum", "'%.60s': %s (%lld)", equation, why, number);
  return false;
}

/* Labels up to ',' or "->" or the end; n_dims -1: of the result, whose ellipsis has `n_rest` axes. *n_rest grows to the
 * longest ellipsis of an operand. */
static bool read_term(iso_context *ctx, const char *equation, const char **at, int n_dims, int *n_rest, term *t) {
  int n_letters = 0, ellipsis = -1;
  for (const char *p = *at; *p && *p != ',' && *p != '-'; p++) n_letters += letter_of(*p) >= 0;
  t->n = 0;
  for (; **at && **at != ',' && **at != '-'; ++*at) {
    if (**at == ' ') continue;
    const int letter = letter_of(**at);
    if (letter >= 0) {
      if (t->n == ISO_MAX_DIMS) return refuse(ctx, equation, "more axes than a tensor has", ISO_MAX_DIMS);
      t->label[t->n++] = letter;
    } else if (!strncmp(*at, "...", 3)) {
      const int count = n_dims < 0 ? *n_rest : n_dims - n_letters;
      if (ellipsis >= 0) return refuse(ctx, equation, "two ellipses in one term", 2);
      if (count < 0 || t->n + count > ISO_MAX_DIMS) return refuse(ctx, equation, "more letters than axes", n_letters);
      for (int i = 0; i < count; i++) t->label[t->n++] = LETTERS + count - 1 - i;
      if (count > *n_rest) *n_rest = count;
      ellipsis = count;
      *at += 2;
    } else {
      return refuse(ctx, equation, "this character is none of letters, ',', '->' and '...'", **at);
    }
  }
  return n_dims < 0 || t->n == n_dims || refuse(ctx, equation, "an operand has another number of axes", n_dims);
}

/* Without "->": the ellipsis, then letters that occur once, in alphabetical order. */
static bool imply_result(iso_context *ctx, const char *equation, int n, const term *terms, int n_rest, term *result) {
  int count[LETTERS] = {0};
  for (int i = 0; i < n; i++)
    for (int d = 0; d < terms[i].n; d++)
      if (terms[i].label[d] < LETTERS) count[terms[i].label[d]]++;
  result->n = 0;
  for (int i = 0; i < n_rest; i++) result->label[result->n++] = LETTERS + n_rest - 1 - i;
  for (int l = 0; l < LETTERS; l++) {
    if (count[l] != 1) continue;
    if (result->n == ISO_MAX_DIMS)
      return refuse(ctx, equation, "the result has more axes than a tensor", result->n + 1);
    result->label[result->n++] = l;
  }
  return true;
}

static bool read_equation(iso_context *ctx, const char *equation, int n, const iso_tensor *const *operands, term *terms,
                          term *result) {
  const char *at = equation;
  int n_rest = 0;
  for (int i = 0; i < n; i++) {
    if (!read_term(ctx, equation, &at, operands[i]->view.n_dims, &n_rest, &terms[i])) return false;
    if (i + 1 < n && *at++ != ',') return refuse(ctx, equation, "fewer terms than operands", i + 1);
  }
  if (!*at) return imply_result(ctx, equation, n, terms, n_rest, result);
  if (strncmp(at, "->", 2)) return refuse(ctx, equation, "more terms than operands", n);
  at += 2;
  if (!read_term(ctx, equation, &at, -1, &n_rest, result)) return false;
  if (*at) return refuse(ctx, equation, "something follows the result", at - equation);
  for (int d = 0; d < result->n; d++) {
    bool known = false;
    for (int i = 0; i < n; i++) known |= find(&terms[i], result->label[d]) >= 0;
    if (!known && result->label[d] < LETTERS) return refuse(ctx, equation, "the result has a letter of its own", d);
    if (find(result, result->label[d]) != d) return refuse(ctx, equation, "the result names a letter twice", d);
  }
  return true;
}

/* Every label has one extent; an extent of 1 goes with any other. */
static bool read_extents(iso_context *ctx, const char *equation, int n, const iso_tensor *const *operands,
                         const term *terms, int64_t *extent) {
  for (int l = 0; l < N_LABELS; l++) extent[l] = 1;
  for (int i = 0; i < n; i++)
    for (int d = 0; d < terms[i].n; d++) {
      const int64_t is = operands[i]->view.shape[d];
      int64_t *e = &extent[terms[i].label[d]];
      if (is == *e || is == 1) continue;
      if (*e != 1) return refuse(ctx, equation, "a label has two extents, the second being", is);
      *e = is;
    }
  return true;
}

/* ---- computing: handles are the scope's ---- */

typedef struct side {
  iso_tensor *t;
  term term;
} side;

/* A label that occurs twice in one operand is a diagonal; the axis goes to the end. */
static void take_diagonals(iso_context *ctx, side *s) {
  for (int d = 0; d < s->term.n; d++) {
    const int label = s->term.label[d];
    int other = -1;
    for (int e = d + 1; e < s->term.n; e++)
      if (s->term.label[e] == label) other = e;
    if (other < 0) continue;
    s->t = iso_diagonal(ctx, s->t, 0, d, other);
    int n = 0;
    for (int e = 0; e < s->term.n; e++)
      if (e != d && e != other) s->term.label[n++] = s->term.label[e];
    s->term.label[n++] = label;
    s->term.n = n;
    d = -1; /* a label may occur three times */
  }
}

/* Sums the labels that are not in `needed`. */
static void sum_others(iso_context *ctx, side *s, const bool *needed) {
  int axes[ISO_MAX_DIMS], n_axes = 0, n = 0;
  for (int d = 0; d < s->term.n; d++) {
    if (needed[s->term.label[d]]) s->term.label[n++] = s->term.label[d];
    else axes[n_axes++] = d;
  }
  s->term.n = n;
  if (n_axes) s->t = iso_sum(ctx, s->t, n_axes, axes, false);
}

/* The axes of s in the order of `order` (labels that s lacks get extent 1), expanded to those labels' extents. */
static iso_tensor *arrange(iso_context *ctx, const side *s, const term *order, const int64_t *extent) {
  int axes[ISO_MAX_DIMS], n = 0;
  int64_t with_ones[ISO_MAX_DIMS], full[ISO_MAX_DIMS];
  if (!s->t) return NULL;
  for (int d = 0; d < order->n; d++) {
    const int at = find(&s->term, order->label[d]);
    if (at >= 0) axes[n++] = at;
    with_ones[d] = at >= 0 ? s->t->view.shape[at] : 1;
    full[d] = extent[order->label[d]];
  }
  iso_tensor *t = iso_permute(ctx, s->t, axes);
  return iso_expand(ctx, iso_reshape(ctx, t, order->n, with_ones), order->n, full);
}

static void append(term *t, const term *more, const bool *wanted) {
  for (int d = 0; d < more->n; d++)
    if (wanted[more->label[d]]) t->label[t->n++] = more->label[d];
}
static int64_t size_of(const term *t, const int64_t *extent) {
  int64_t n = 1;
  for (int d = 0; d < t->n; d++) n *= extent[t->label[d]];
  return n;
}

/* a and b as one operand: labels of both that are needed later are the batch, other common ones are joined. */
static side join(iso_context *ctx, side a, side b, const bool *later, const int64_t *extent) {
  bool needed[N_LABELS], batch[N_LABELS], only_a[N_LABELS], only_b[N_LABELS], joined[N_LABELS];
  for (int l = 0; l < N_LABELS; l++) needed[l] = later[l] || find(&b.term, l) >= 0;
  sum_others(ctx, &a, needed);
  for (int l = 0; l < N_LABELS; l++) needed[l] = later[l] || find(&a.term, l) >= 0;
  sum_others(ctx, &b, needed);
  for (int l = 0; l < N_LABELS; l++) {
    const bool in_a = find(&a.term, l) >= 0, in_b = find(&b.term, l) >= 0;
    batch[l] = in_a && in_b && later[l], joined[l] = in_a && in_b && !later[l];
    only_a[l] = in_a && !in_b, only_b[l] = in_b && !in_a;
  }
  term order[3] = {{0}}, left = {0}, right = {0}, all = {0};
  append(&order[0], &a.term, batch), append(&left, &a.term, only_a), append(&right, &b.term, only_b),
      append(&order[1], &a.term, joined);
  if (order[0].n + left.n + right.n > ISO_MAX_DIMS) {
    refuse(ctx, "", "two operands together have more axes than a tensor", order[0].n + left.n + right.n);
    return (side){0};
  }
  bool any[N_LABELS];
  memset(any, true, sizeof any);
  term a_order = order[0], b_order = order[0];
  append(&a_order, &left, any), append(&a_order, &order[1], any);
  append(&b_order, &order[1], any), append(&b_order, &right, any);
  append(&all, &order[0], any), append(&all, &left, any), append(&all, &right, any);
  const int64_t n_batch = size_of(&order[0], extent), m = size_of(&left, extent), n = size_of(&right, extent),
                k = size_of(&order[1], extent);
  iso_tensor *x = iso_reshape(ctx, arrange(ctx, &a, &a_order, extent), 3, ISO_DIMS(n_batch, m, k));
  iso_tensor *y = iso_reshape(ctx, arrange(ctx, &b, &b_order, extent), 3, ISO_DIMS(n_batch, k, n));
  int64_t shape[ISO_MAX_DIMS];
  for (int d = 0; d < all.n; d++) shape[d] = extent[all.label[d]];
  return (side){.t = iso_reshape(ctx, iso_matmul(ctx, x, y), all.n, shape), .term = all};
}

iso_tensor *iso_einsum(iso_context *ctx, const char *equation, int n, const iso_tensor *const *operands) {
  ISO__AUTOCAST_LIST(ctx, "einsum", n, operands, iso_einsum(ctx, equation, n, operands));
  if (iso__failed(ctx)) return NULL;
  if (n < 1 || n > MAX_TERMS || !operands || !equation) {
    ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, "einsum", "%d operands of 1 to %d%s", n, MAX_TERMS,
              operands && equation ? "" : ", and a list is NULL");
    return NULL;
  }
  term terms[MAX_TERMS], result;
  int64_t extent[N_LABELS];
  if (!iso__takes(ctx, "einsum", n, operands) || !iso__takes_dtypes(ctx, "einsum", ISO__REAL_DTYPES, n, operands) ||
      !read_equation(ctx, equation, n, operands, terms, &result) ||
      !read_extents(ctx, equation, n, operands, terms, extent))
    return NULL;
  iso__enter(ctx);
  side all = {.t = iso_tensor_alias(ctx, operands[0]), .term = terms[0]};
  take_diagonals(ctx, &all);
  bool later[N_LABELS];
  for (int i = 1; i < n; i++) {
    side next = {.t = iso_tensor_alias(ctx, operands[i]), .term = terms[i]};
    take_diagonals(ctx, &next);
    for (int l = 0; l < N_LABELS; l++) {
      later[l] = find(&result, l) >= 0;
      for (int j = i + 1; j < n; j++) later[l] |= find(&terms[j], l) >= 0;
    }
    all = join(ctx, all, next, later, extent);
  }
  for (int l = 0; l < N_LABELS; l++) later[l] = find(&result, l) >= 0;
  sum_others(ctx, &all, later);
  iso_tensor *y = iso_contiguous(ctx, arrange(ctx, &all, &result, extent));
  return iso__leave(ctx, y);
}
