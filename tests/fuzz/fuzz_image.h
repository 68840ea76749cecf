/* fuzz_image.h: the decoders' entry: a large claim is probed but not decoded, so that an input takes no second. */
#ifndef ISO_TESTS_FUZZ_IMAGE_H
#define ISO_TESTS_FUZZ_IMAGE_H
#include "fuzz/fuzz.h"
#include "io/image.h"

static inline void fuzz_image(const uint8_t *bytes, size_t n) {
  iso__image_info info;
  iso__image_fault fault;
  if (iso__image_probe(bytes, n, &info, &fault) && (int64_t)info.width * info.height > 1 << 20) return;
  fuzz_tensor(iso__image_parse, bytes, n);
}
#endif
