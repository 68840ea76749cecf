/* tensor_test.h: what this room's tests share: seeded numbers, contexts, and a naive way through any view. */
#ifndef TENSOR_TEST_H
#define TENSOR_TEST_H
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>
#include "base/context.h"
#include "numeric/dtype.h"
#include "tensor/tensor.h"

static inline uint32_t next_random(uint32_t *state) {
  *state = *state * 1664525u + 1013904223u;
  return *state >> 8;
}

static inline iso_context *new_context(int n_threads) {
  iso_context *ctx;
  assert_int_equal(iso__context_new(NULL, NULL, n_threads, ISO_ISA_AVX512, &ctx), ISO_OK);
  return ctx;
}

/* Frees the context and checks that it has given all its memory back to its heap. */
static inline void end_context(iso_context *ctx) {
  iso__heap *heap = ctx->heap;
  iso__heap_retain(heap);
  iso__context_free(ctx);
  assert_int_equal(iso__heap_info(heap).live_bytes, 0);
  iso__heap_release(heap);
}

/* The address of logical element i, one index at a time. */
static inline char *element_at(const iso__view *v, int64_t i) {
  int64_t at = v->offset;
  for (int d = v->n_dims - 1; d >= 0; d--) {
    at += i % v->shape[d] * v->strides[d];
    i /= v->shape[d];
  }
  return (char *)v->storage->data + at * (int64_t)iso_dtype_size(v->dtype);
}

/* A view with random extents and layout (permuted, sliced, reversed) of a new tensor with random bytes. */
static inline iso_tensor *random_view(iso_context *ctx, iso_dtype dtype, int n_dims, const int64_t *shape,
                                      uint32_t *random) {
  int64_t outer[ISO_MAX_DIMS] = {0};
  int place[ISO_MAX_DIMS] = {0}, axes[ISO_MAX_DIMS] = {0};
  for (int i = 0; i < n_dims; i++) place[i] = i;
  for (int i = n_dims - 1; i > 0; i--) {
    int k = (int)(next_random(random) % (uint32_t)(i + 1)), t = place[i];
    place[i] = place[k], place[k] = t;
  }
  int64_t steps[ISO_MAX_DIMS], starts[ISO_MAX_DIMS];
  for (int i = 0; i < n_dims; i++) { /* dim i of the result lies at place[i] of memory */
    steps[i] = 1 + next_random(random) % 4 / 3;
    starts[i] = next_random(random) % 4 / 3;
    outer[place[i]] = starts[i] + shape[i] * steps[i];
    axes[i] = place[i];
  }
  iso_tensor *whole = iso_tensor_new(ctx, dtype, n_dims, outer);
  assert_non_null(whole);
  unsigned char *bytes = iso_tensor_data(whole);
  for (size_t i = 0; i < whole->view.storage->n_bytes; i++)
    bytes[i] = (unsigned char)(dtype == ISO_BOOL ? next_random(random) % 2 : next_random(random));
  iso__view v = whole->view;
  assert_true(iso__view_permute(ctx, &v, axes, &v));
  for (int i = 0; i < n_dims; i++) {
    assert_true(iso__view_slice(ctx, &v, i, starts[i], starts[i] + shape[i] * steps[i], steps[i], &v));
    if (next_random(random) % 4 == 0 && v.shape[i] > 0) {
      v.offset += (v.shape[i] - 1) * v.strides[i];
      v.strides[i] = -v.strides[i];
    }
  }
  return iso__tensor_from_view(ctx, &v);
}

#endif
