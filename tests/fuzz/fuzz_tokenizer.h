/* fuzz_tokenizer.h: what the targets of the tokenizer share: a small tokenizer.json, and a text encoded by all rules.
 */
#ifndef ISO_TESTS_FUZZ_TOKENIZER_H
#define ISO_TESTS_FUZZ_TOKENIZER_H
#include "fuzz/fuzz.h"
#include "text/tokenizer.h"

/* %s: BertNormalizer's fields; then added tokens. */
#define FUZZ_TOKENIZER_JSON                                                                                            \
  "{\"version\":\"1.0\",\"truncation\":null,\"padding\":{\"pad_token\":\"[PAD]\"},\"added_tokens\":[%s],"              \
  "\"normalizer\":{\"type\":\"BertNormalizer\",%s},\"pre_tokenizer\":{\"type\":\"BertPreTokenizer\"},"                 \
  "\"post_processor\":{\"type\":\"TemplateProcessing\",\"single\":[{\"SpecialToken\":{\"id\":\"[CLS]\",\"type_id\":0}" \
  "},"                                                                                                                 \
  "{\"Sequence\":{\"id\":\"A\",\"type_id\":0}},{\"SpecialToken\":{\"id\":\"[SEP]\",\"type_id\":0}}],\"pair\":[],"      \
  "\"special_tokens\":{\"[CLS]\":{\"id\":\"[CLS]\",\"ids\":[2],\"tokens\":[\"[CLS]\"]},"                               \
  "\"[SEP]\":{\"id\":\"[SEP]\",\"ids\":[3],\"tokens\":[\"[SEP]\"]}}},\"decoder\":null,"                                \
  "\"model\":{\"type\":\"WordPiece\",\"unk_token\":\"[UNK]\",\"continuing_subword_prefix\":\"##\","                    \
  "\"max_input_chars_per_word\":9,\"vocab\":{\"[PAD]\":0,\"[UNK]\":1,\"[CLS]\":2,\"[SEP]\":3,\"a\":4,\"##a\":5,"       \
  "\"ab\":6,\"##b\":7,\".\":8,\"\\u00e9\":9,\"e\":10,\"\\u4e2d\":11,\"##\\u1161\":12}}}"

/* Ids in the vocabulary, offsets within the text, and the same without offsets. */
static inline void fuzz_encode(iso_context *ctx, const iso_tokenizer *t, const uint8_t *bytes, size_t n) {
  const iso_text text = {(const char *)bytes, n};
  iso_encodings with, without;
  FUZZ_CHECK(iso_tokenizer_encode(ctx, t, 1, &text, &(iso_encode_options){.offsets = true}, &with) == ISO_OK);
  FUZZ_CHECK(iso_tokenizer_encode(ctx, t, 1, &text, NULL, &without) == ISO_OK);
  FUZZ_CHECK(with.begin[1] == without.begin[1] && with.n_invalid == without.n_invalid);
  for (int64_t i = 0; i < with.begin[1]; i++) {
    FUZZ_CHECK(with.ids[i] == without.ids[i] && iso_tokenizer_token(t, with.ids[i]) != NULL);
    FUZZ_CHECK(with.offsets[i][0] >= 0 && with.offsets[i][0] <= with.offsets[i][1]);
    FUZZ_CHECK(with.offsets[i][1] <= (int64_t)n);
  }
  iso_encodings_free(ctx, &without);
  iso_encodings_free(ctx, &with);
}

#endif
