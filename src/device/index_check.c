/* index_check.c: the words for an index that is out of range, wherever it was found. */
#include <stdio.h>
#include "device/device.h"

void iso__index_fail(iso_context *ctx, const iso__index_check *c, int64_t position, int64_t value) {
  int64_t at[8], rest = position;
  for (int d = c->n_dims - 1; d >= 0; d--) at[d] = rest % c->shape[d], rest /= c->shape[d];
  char text[192] = "";
  size_t used = 0;
  for (int d = 0; d < c->n_dims; d++)
    used += (size_t)snprintf(text + used, sizeof text - used, "%s%lld%s", d ? "," : "[", (long long)at[d],
                             d + 1 < c->n_dims ? "" : "]");
  if (c->is_class)
    ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, c->op, "%s%s is %lld: classes run from 0 to %lld", c->name, text,
              (long long)value, (long long)c->extent - 1);
  else if (c->extent == 0)
    ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, c->op, "%s%s is %lld, but there is nothing to point at", c->name, text,
              (long long)value);
  else
    ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, c->op, "%s%s is %lld: %lld to %lld are in range", c->name, text,
              (long long)value, c->wraps ? -(long long)c->extent : 0, (long long)c->extent - 1);
}
