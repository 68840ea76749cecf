/* resize.h: a part of an 8-bit image at another size. */
#ifndef ISO_DATA_RESIZE_H
#define ISO_DATA_RESIZE_H
#include <isobit/base.h>
#include "base/heap.h"

typedef struct iso__rect {
  int x, y, width, height;
} iso__rect;
/* The rectangle `from` of the source becomes to_width × to_height, of which `window` is computed. */
typedef struct iso__resizing {
  const uint8_t *pixels; /* (…,width,channels) */
  int width, channels;
  iso__rect from;
  int to_width, to_height;
  iso__rect window;
} iso__resizing;

/* out (window.height, window.width, channels). False: no memory. Its f64 arithmetic needs the default mode. */
bool iso__resize(iso__heap *heap, const iso__resizing *r, uint8_t *out);
#endif
