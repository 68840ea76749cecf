/* text_module.c: the module of a text model, and whether its weights can be used at all. */
#include <math.h>
#include <string.h>
#include "tensor/tensor.h"
#include "train/text_model.h"

/* A NaN would spread to every text without a word. */
bool iso__text_model_check_weights(iso__text_model *m) {
  size_t n;
  const iso_named_tensor *tensors = iso_module_tensors(m->module, &n);
  for (size_t i = 0; i < n; i++) {
    const iso_tensor *t = tensors[i].tensor;
    if (iso_tensor_dtype(t) != ISO_F32) continue;
    const float *data = iso_tensor_data(t);
    for (int64_t k = 0; k < iso_tensor_numel(t); k++)
      if (!isfinite(data[k]))
        return ISO__FAIL(m->ctx, ISO_INVALID_ARGUMENT, "weights", "'%s' holds %g at element %lld", tensors[i].name,
                         (double)data[k], (long long)k),
               false;
  }
  return true;
}

bool iso__text_model_open_module(iso__text_model *m, const char *weights) {
  (void)weights;
  if (!strcmp(m->name, "textclassifier"))
    m->module =
        iso_text_classifier_new(m->ctx, &(iso_text_classifier_config){.vocabulary = iso_tokenizer_size(m->tokenizer),
                                                                      .width = m->width,
                                                                      .classes = m->n_classes,
                                                                      .padding = iso_tokenizer_padding(m->tokenizer)});
  else ISO__FAIL(m->ctx, ISO_NOT_FOUND, "train", "there is no text model '%s'", m->name);
  return m->module && iso__text_model_check_weights(m);
}
