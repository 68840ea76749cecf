/* norm.c: gradient cases of ops/norm; gradients.h explains them. */
#include "ops/gradients/gradients.h"

#define A in[0]
#define B in[1]
static iso_tensor *batch_norm(iso_context *ctx, iso_tensor *const *in, const iso_batch_norm_options *o) {
  const int64_t c = iso_tensor_shape(A)[1];
  iso_tensor *mean = iso_tensor_full(ctx, ISO_F64, 1, &c, 0.125), *var = iso_tensor_full(ctx, ISO_F64, 1, &c, 1.5);
  return iso_batch_norm(ctx, A, B, in[2], mean, var, o);
}
static iso_tensor *f_batch_norm(iso_context *ctx, iso_tensor *const *in) {
  return batch_norm(ctx, in, &(iso_batch_norm_options){.training = true});
}
static iso_tensor *f_batch_norm_eval(iso_context *ctx, iso_tensor *const *in) {
  return batch_norm(ctx, in, &(iso_batch_norm_options){.relu = true});
}
static iso_tensor *f_batch_norm_fused(iso_context *ctx, iso_tensor *const *in) {
  return batch_norm(ctx, in, &(iso_batch_norm_options){.training = true, .relu = true, .residual = in[3]});
}
static iso_tensor *f_layer_norm(iso_context *ctx, iso_tensor *const *in) {
  return iso_layer_norm(ctx, A, 2, B, in[2], 0);
}
static iso_tensor *f_layer_norm_plain(iso_context *ctx, iso_tensor *const *in) {
  return iso_layer_norm(ctx, iso_transpose(ctx, A, 0, 1), 1, NULL, NULL, 1e-3);
}
static iso_tensor *f_rms_norm(iso_context *ctx, iso_tensor *const *in) { return iso_rms_norm(ctx, A, 1, B, 0); }
static iso_tensor *f_group_norm(iso_context *ctx, iso_tensor *const *in) {
  return iso_group_norm(ctx, A, 2, B, in[2], 0);
}
static iso_tensor *f_instance_norm(iso_context *ctx, iso_tensor *const *in) {
  return iso_instance_norm(ctx, A, NULL, B, 0);
}
static iso_tensor *f_softmax(iso_context *ctx, iso_tensor *const *in) { return iso_softmax(ctx, A, -1); }
static iso_tensor *f_softmax_first(iso_context *ctx, iso_tensor *const *in) { return iso_softmax(ctx, A, 0); }
static iso_tensor *f_log_softmax(iso_context *ctx, iso_tensor *const *in) { return iso_log_softmax(ctx, A, 1); }
static iso_tensor *f_softmin(iso_context *ctx, iso_tensor *const *in) { return iso_softmin(ctx, A, 1); }
static iso_tensor *mask(iso_context *ctx) { /* the second row has nothing */
  const uint8_t present[] = {1, 0, 1, 0, 0, 0, 1, 1, 1};
  return iso_tensor_copy_from(ctx, ISO_BOOL, 2, (const int64_t[]){3, 3}, present);
}
static iso_tensor *f_masked_softmax(iso_context *ctx, iso_tensor *const *in) {
  return iso_masked_softmax(ctx, A, mask(ctx), 1);
}
static iso_tensor *f_masked_log_softmax(iso_context *ctx, iso_tensor *const *in) { /* −infinity has no differences */
  return iso_mul(ctx, iso_masked_softmax(ctx, A, mask(ctx), 1),
                 iso_clamp(ctx, iso_masked_log_softmax(ctx, A, mask(ctx), 1), -50, 0));
}
static iso_tensor *f_local_response(iso_context *ctx, iso_tensor *const *in) {
  return iso_local_response_norm(ctx, A,
                                 &(iso_local_response_norm_options){.size = 4, .alpha = 0.5, .beta = 0.75, .k = 1});
}
#undef A
#undef B

const gradient_case iso__gradients_norm[] = {
    {"batch_norm", f_batch_norm, SIGNED, 3, {{2, 3, 2, 2, END}, {3, END}, {3, END}}},
    {"batch_norm", f_batch_norm, SIGNED, 3, {{4, 2, END}, {2, END}, {2, END}}},
    {"batch_norm", f_batch_norm, SIGNED, 3, {{2, 2, 3, END}, {2, END}, {2, END}}},
    {"batch_norm", f_batch_norm_fused, SIGNED, 4, {{1, 2, 2, 2, 2, END}, {2, END}, {2, END}, {1, 2, 2, 2, 2, END}}},
    {"batch_norm", f_batch_norm_eval, SIGNED, 3, {{2, 3, 2, 2, END}, {3, END}, {3, END}}},
    {"batch_norm", f_batch_norm_fused, SIGNED, 4, {{2, 3, 2, 2, END}, {3, END}, {3, END}, {2, 3, 2, 2, END}}},
    {"row_norm", f_layer_norm, SIGNED, 3, {{2, 3, 4, END}, {3, 4, END}, {3, 4, END}}},
    {"row_norm", f_layer_norm_plain, SIGNED, 1, {{5, 3, END}}},
    {"row_norm", f_rms_norm, SIGNED, 2, {{3, 5, END}, {5, END}}},
    {"row_norm", f_group_norm, SIGNED, 3, {{2, 4, 2, 3, END}, {4, END}, {4, END}}},
    {"row_norm", f_group_norm, SIGNED, 3, {{3, 6, END}, {6, END}, {6, END}}},
    {"row_norm", f_instance_norm, SIGNED, 2, {{2, 3, 4, END}, {3, END}}},
    {"softmax", f_softmax, SIGNED, 1, {{2, 4, END}}},
    {"softmax", f_softmax_first, SIGNED, 1, {{3, 2, END}}},
    {"log_softmax", f_log_softmax, SIGNED, 1, {{2, 3, 2, END}}},
    {"softmax", f_softmin, SIGNED, 1, {{2, 3, END}}},
    {"where", f_masked_softmax, SIGNED, 1, {{3, 3, END}}},
    {"log_softmax", f_masked_log_softmax, SIGNED, 1, {{3, 3, END}}},
    {"div", f_local_response, SIGNED, 1, {{2, 5, 2, END}}},
    {NULL}};
