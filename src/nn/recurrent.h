/* recurrent.h (internal): the text model "lstm". */
#ifndef ISO_NN_RECURRENT_H
#define ISO_NN_RECURRENT_H
#include <isobit/sequence.h>

iso_module *iso__text_lstm_new(iso_context *ctx, const iso_text_model_config *config);
#endif
