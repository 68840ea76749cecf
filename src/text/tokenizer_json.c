/* tokenizer_json.c: the tokenizer.json of Hugging Face `tokenizers`, as far as BERT-type models have it; a part or
 * field that would change the result and is not followed is an error that names it. */
#include <string.h>
#include "text/json.h"
#include "text/tokenizer.h"

/* ---- model ---- */

static bool read_vocabulary(iso__draft *d, const iso__json_place *model) {
  iso__json_place place;
  const char *token;
  json_t *id;
  if (!iso__json_enter(model, "vocab", json_object_get(model->object, "vocab"), &place)) return false;
  json_object_foreach(place.object, token, id) {
    if (!json_is_integer(id)) return iso__json_refuse(&place, ISO_CORRUPT, token, "has an id that is no whole number");
    if (!iso__draft_add_token(d, (iso__draft_token){token, strlen(token), json_integer_value(id)})) return false;
  }
  return true;
}

static bool read_model(iso__draft *d, const iso__json_place *root) {
  static const char *const fields[] = {"type",  "unk_token", "continuing_subword_prefix", "max_input_chars_per_word",
                                       "vocab", NULL};
  iso__json_place model;
  return iso__json_enter(root, "model", json_object_get(root->object, "model"), &model) &&
         (!json_object_get(model.object, "type") || iso__json_type(&model, "WordPiece")) &&
         iso__json_only(&model, fields) && iso__json_text(&model, "unk_token", true, &d->unknown) &&
         iso__json_text(&model, "continuing_subword_prefix", true, &d->prefix) &&
         iso__json_count(&model, "max_input_chars_per_word", true, &d->max_word) && read_vocabulary(d, &model);
}

/* ---- normalizer, pre_tokenizer ---- */

static bool read_normalizer(iso__draft *d, const iso__json_place *root) {
  static const char *const fields[] = {"type",          "clean_text", "handle_chinese_chars",
                                       "strip_accents", "lowercase",  NULL};
  iso__json_place place;
  if (!iso__json_enter(root, "normalizer", json_object_get(root->object, "normalizer"), &place) ||
      !iso__json_type(&place, "BertNormalizer") || !iso__json_only(&place, fields) ||
      !iso__json_flag(&place, "clean_text", true, &d->rules.clean_text) ||
      !iso__json_flag(&place, "handle_chinese_chars", true, &d->rules.chinese) ||
      !iso__json_flag(&place, "lowercase", true, &d->rules.lowercase))
    return false;
  d->rules.strip_accents = d->rules.lowercase;
  return iso__json_flag(&place, "strip_accents", false, &d->rules.strip_accents);
}

static bool read_pre_tokenizer(const iso__json_place *root) {
  static const char *const fields[] = {"type", NULL};
  iso__json_place place;
  return iso__json_enter(root, "pre_tokenizer", json_object_get(root->object, "pre_tokenizer"), &place) &&
         iso__json_type(&place, "BertPreTokenizer") && iso__json_only(&place, fields);
}

/* ---- post_processor: the special tokens around a text ---- */

static bool add_special(iso__draft *d, const iso__json_place *place, const char *name, const json_t *id, bool before) {
  if (!json_is_integer(id)) return iso__json_refuse(place, ISO_CORRUPT, name, "has an id that is no whole number");
  const int n = d->n_before + d->n_after;
  if (n == ISO__TOKENIZER_SPECIAL)
    return iso__json_refuse(place, ISO_UNSUPPORTED, name, "puts more than %d special tokens around a text",
                            ISO__TOKENIZER_SPECIAL);
  d->special[n] = json_integer_value(id);
  *(before ? &d->n_before : &d->n_after) += 1;
  return true;
}

static bool read_bert_processing(iso__draft *d, const iso__json_place *place) {
  static const char *const fields[] = {"type", "sep", "cls", NULL};
  if (!iso__json_only(place, fields)) return false;
  for (int i = 0; i < 2; i++) {
    const char *name = i == 0 ? "cls" : "sep";
    const json_t *pair = json_object_get(place->object, name);
    if (json_array_size(pair) != 2) return iso__json_refuse(place, ISO_CORRUPT, name, "is not [token, id]");
    if (!add_special(d, place, name, json_array_get(pair, 1), i == 0)) return false;
  }
  return true;
}

/* The ids that special_tokens gives a name of the template. */
static bool add_template_token(iso__draft *d, const iso__json_place *place, const char *name, bool before) {
  static const char *const fields[] = {"id", "ids", "tokens", NULL};
  iso__json_place tokens, token;
  size_t i;
  json_t *id;
  if (!iso__json_enter(place, "special_tokens", json_object_get(place->object, "special_tokens"), &tokens) ||
      !iso__json_enter(&tokens, name, json_object_get(tokens.object, name), &token) || !iso__json_only(&token, fields))
    return false;
  const json_t *ids = json_object_get(token.object, "ids");
  if (!json_is_array(ids)) return iso__json_refuse(&token, ISO_CORRUPT, "ids", "is no array");
  json_array_foreach(ids, i, id) if (!add_special(d, &token, "ids", id, before)) return false;
  return true;
}

static bool read_template(iso__draft *d, const iso__json_place *place) {
  static const char *const fields[] = {"type", "single", "pair", "special_tokens", NULL};
  static const char *const kinds[] = {"SpecialToken", "Sequence", NULL};
  const json_t *single = json_object_get(place->object, "single");
  size_t i;
  json_t *value;
  int n_texts = 0;
  if (!iso__json_only(place, fields)) return false;
  if (!json_is_array(single)) return iso__json_refuse(place, ISO_CORRUPT, "single", "is no array");
  json_array_foreach(single, i, value) {
    iso__json_place item, piece;
    const char *id;
    if (!iso__json_enter_item(place, "single", i, value, &item) || !iso__json_only(&item, kinds)) return false;
    json_t *sequence = json_object_get(item.object, "Sequence");
    const char *kind = sequence ? "Sequence" : "SpecialToken";
    if (!iso__json_enter(&item, kind, sequence ? sequence : json_object_get(item.object, "SpecialToken"), &piece) ||
        !iso__json_text(&piece, "id", true, &id))
      return false;
    if (!sequence && !add_template_token(d, place, id, n_texts == 0)) return false;
    if (sequence && (strcmp(id, "A") != 0 || n_texts++ > 0))
      return iso__json_refuse(&piece, ISO_UNSUPPORTED, "id", "is not the text (A), or it is not the only one");
  }
  return n_texts == 1 || iso__json_refuse(place, ISO_UNSUPPORTED, "single", "does not contain the text");
}

static bool read_post_processor(iso__draft *d, const iso__json_place *root) {
  iso__json_place place;
  const char *type;
  json_t *value = json_object_get(root->object, "post_processor");
  if (!value || json_is_null(value)) return true;
  if (!iso__json_enter(root, "post_processor", value, &place) || !iso__json_text(&place, "type", true, &type))
    return false;
  if (strcmp(type, "BertProcessing") == 0) return read_bert_processing(d, &place);
  return iso__json_type(&place, "TemplateProcessing") && read_template(d, &place);
}

/* ---- added_tokens ---- */

static bool read_added_token(iso__draft *d, const iso__json_place *place) {
  static const char *const fields[] = {"id",     "content",    "single_word", "lstrip",
                                       "rstrip", "normalized", "special",     NULL};
  iso__added_token flags = {0};
  iso__draft_token token = {0};
  bool special = false;
  if (!iso__json_only(place, fields) || !iso__json_count(place, "id", true, &token.id) ||
      !iso__json_text(place, "content", true, &token.bytes) ||
      !iso__json_flag(place, "single_word", true, &flags.single_word) ||
      !iso__json_flag(place, "lstrip", true, &flags.lstrip) || !iso__json_flag(place, "rstrip", true, &flags.rstrip) ||
      !iso__json_flag(place, "normalized", true, &flags.normalized) ||
      !iso__json_flag(place, "special", true, &special))
    return false;
  token.n_bytes = strlen(token.bytes);
  return iso__draft_add_added(d, token, flags);
}

static bool read_added(iso__draft *d, const iso__json_place *root) {
  const json_t *list = json_object_get(root->object, "added_tokens");
  size_t i;
  json_t *value;
  if (!list || json_is_null(list)) return true;
  if (!json_is_array(list)) return iso__json_refuse(root, ISO_CORRUPT, "added_tokens", "is no array");
  json_array_foreach(list, i, value) {
    iso__json_place place;
    if (!iso__json_enter_item(root, "added_tokens", i, value, &place) || !read_added_token(d, &place)) return false;
  }
  return true;
}

/* Hugging Face counts new tokens on from the vocabulary's size, in the file's order, and warns where the file says
 * otherwise; a file whose ids nobody would use is refused here. The vocabulary is sorted, the added tokens are not. */
static bool check_new_ids(iso__draft *d, const iso__json_place *root) {
  int64_t next = (int64_t)d->n_tokens;
  for (size_t i = 0; i < d->n_added; i++) {
    const iso__draft_token *token = &d->added[i].token;
    char text[80];
    if (iso__draft_find(d, token->bytes) >= 0) continue;
    if (token->id != next)
      return iso__json_refuse(root, ISO_CORRUPT, "added_tokens", "give '%s' the id %lld, expected %lld",
                              iso__token_shown(token->bytes, token->n_bytes, text), (long long)token->id,
                              (long long)next);
    next++;
  }
  return true;
}

/* ---- the file ---- */

static bool read_padding(iso__draft *d, const iso__json_place *root) {
  iso__json_place place;
  json_t *padding = json_object_get(root->object, "padding");
  if (!padding || json_is_null(padding)) return true;
  return iso__json_enter(root, "padding", padding, &place) && iso__json_text(&place, "pad_token", false, &d->padding);
}

static bool read_root(iso__draft *d, const iso__json_place *root) {
  static const char *const fields[] = {"version",       "truncation",     "padding", "added_tokens", "normalizer",
                                       "pre_tokenizer", "post_processor", "decoder", "model",        NULL};
  const char *version = "1.0";
  char text[80];
  if (!iso__json_only(root, fields) || !iso__json_text(root, "version", false, &version)) return false;
  if (strcmp(version, "1.0") != 0)
    return iso__json_refuse(root, ISO_UNSUPPORTED, "version", "is '%s', supported is 1.0",
                            iso__token_shown(version, strlen(version), text));
  return read_model(d, root) && read_normalizer(d, root) && read_pre_tokenizer(root) && read_post_processor(d, root) &&
         read_padding(d, root) && read_added(d, root) && iso__draft_sort_vocabulary(d) && check_new_ids(d, root) &&
         iso__draft_sort_added(d);
}

iso_tokenizer *iso__tokenizer_parse_json(iso_context *ctx, const char *name, const void *bytes, size_t n_bytes) {
  iso_tokenizer *t = NULL;
  json_t *json = iso__json_load(ctx, name, bytes, n_bytes);
  if (!json) return NULL;
  iso__draft draft = {.ctx = ctx, .name = name};
  const iso__json_place root = {.ctx = ctx, .file = name, .object = json};
  if (read_root(&draft, &root)) t = iso__tokenizer_make(&draft);
  iso__draft_release(&draft);
  json_decref(json);
  return t;
}
