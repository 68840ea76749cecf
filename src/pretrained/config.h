/* config.h (internal): what a folder says of its model. */
#ifndef ISO_PRETRAINED_CONFIG_H
#define ISO_PRETRAINED_CONFIG_H
#include <isobit/pretrained.h>
#include "base/context.h"

typedef struct iso__pretrained_config {
  iso_bert_config bert;
  bool has_pooling; /* 1_Pooling/config.json is there */
  bool normalize;   /* modules.json ends with Normalize */
} iso__pretrained_config;

/* config.json, and the two others where they are; false with the error kept. */
bool iso__pretrained_config_read(iso_context *ctx, const char *folder, iso__pretrained_config *out);
/* One file's text alone: for tests and fuzzers. */
bool iso__bert_config_parse(iso_context *ctx, const char *name, const void *bytes, size_t n_bytes,
                            iso_bert_config *out);
#endif
