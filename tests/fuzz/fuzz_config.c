/* fuzz_config.c: config.json of a pretrained model. */
#include "fuzz/fuzz.h"
#include "pretrained/config.h"

static const char *const seeds[] = {
    "{\"model_type\": \"bert\", \"vocab_size\": 30522, \"hidden_size\": 384, \"num_hidden_layers\": 6,"
    " \"num_attention_heads\": 12, \"intermediate_size\": 1536, \"max_position_embeddings\": 512, \"hidden_act\": "
    "\"gelu\","
    " \"hidden_dropout_prob\": 0.1, \"layer_norm_eps\": 1e-12}",
    "{\"model_type\": \"bert\", \"vocab_size\": 9, \"hidden_size\": 8, \"num_hidden_layers\": 1, "
    "\"num_attention_heads\": 2,"
    " \"intermediate_size\": 16, \"max_position_embeddings\": 4, \"type_vocab_size\": 1, \"hidden_act\": \"relu\","
    " \"position_embedding_type\": \"absolute\", \"is_decoder\": false, \"attention_probs_dropout_prob\": 0}",
    "{\"model_type\": \"gpt2\"}", "[[[[]]]]"};

size_t fuzz_seed(size_t index, uint8_t out[FUZZ_SEED_BYTES]) {
  if (index >= sizeof seeds / sizeof seeds[0]) return 0;
  memcpy(out, seeds[index], strlen(seeds[index]));
  return strlen(seeds[index]);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n) {
  iso_context *ctx = fuzz_context();
  const size_t live = iso_memory_get_info(ctx).live_bytes;
  iso_bert_config c;
  const bool ok = iso__bert_config_parse(ctx, "input", bytes, n, &c);
  if (ok) {
    FUZZ_CHECK(c.width > 0 && c.heads > 0 && c.width % c.heads == 0 && c.layers > 0 && c.layers <= 1024);
    FUZZ_CHECK(c.vocabulary > 0 && c.positions > 0 && c.token_types > 0 && c.feedforward > 0 && c.eps > 0);
    FUZZ_CHECK(c.dropout < 1 && c.attention_dropout < 1);
  }
  fuzz_judge(ctx, ok, live);
  return 0;
}
