/* nn.h: modules, initialisers, models by name, optimisers and learning-rate schedules.
 *
 *   iso_module *net = iso_sequential(ctx, 5, (iso_module *[]){
 *       iso_conv2d_module(ctx, &(iso_conv2d_config){.in = 1, .out = 32, .kernel = 3, .pad = 1}),
 *       iso_relu_module(ctx), iso_max_pool2d_module(ctx, 2, 2, 0), iso_flatten_module(ctx),
 *       iso_linear_module(ctx, 32 * 14 * 14, 10, true)});
 *   size_t n;
 *   const iso_named_tensor *p = iso_module_tensors(net, &n);
 *   iso_optimizer *sgd = iso_sgd_new(ctx, n, p, &(iso_sgd_options){.lr = 0.1, .momentum = 0.9});
 *   iso_scope_push(ctx);
 *   iso_tensor *loss = iso_cross_entropy(ctx, iso_module_forward(net, x), target, NULL);
 *   iso_backward(loss);
 *   iso_optimizer_step(sgd);
 *   iso_optimizer_zero_grad(sgd);
 *   iso_scope_pop(ctx);
 *
 * Calls that make something return NULL when the context has an error or gets one. A parent owns its children; the root
 * is freed with iso_module_free, before its context. Names are PyTorch's: "layer1.0.conv1.weight". */
#ifndef ISOBIT_NN_H
#define ISOBIT_NN_H
#include <isobit/ops.h>
#ifdef __cplusplus
extern "C" {
#endif

typedef struct iso_module iso_module;

/* ---- modules ---- */
/* What a kind of module does. Your own: fill one in, make modules with iso_module_new. */
typedef struct iso_module_type {
  const char *name; /* "Linear" */
  size_t state_bytes;
  iso_tensor *(*forward)(iso_module *module, iso_tensor *x);
  /* Appends what the module's line in iso_module_describe says after its name; returns the length like snprintf. NULL:
   * nothing. */
  int (*describe)(const iso_module *module, char *text, size_t n_bytes);
  void (*free)(iso_module *module); /* releases what the state owns; NULL: nothing */
  /* Computes forward with relu on top in one go, with the same bits; NULL: Sequential runs the ReLU by itself. */
  iso_tensor *(*forward_relu)(iso_module *module, iso_tensor *x);
  /* Of modules that look along a sequence (attention, recurrences, pooling): x as in iso_module_forward_sequence, whose
   * lengths may be NULL. `forward` may then be NULL: it is this without lengths. NULL: positions don't see each other.
   */
  iso_tensor *(*forward_sequence)(iso_module *module, iso_tensor *x, const iso_tensor *lengths);
} iso_module_type;

/* state_bytes of zeroed (or copied from `state`) memory for the module's own use. */
ISO_API iso_module *iso_module_new(iso_context *ctx, const iso_module_type *type, const void *state);
ISO_API void iso_module_free(iso_module *module); /* children too; NULL is fine */
ISO_API void *iso_module_state(const iso_module *module);
ISO_API const iso_module_type *iso_module_get_type(const iso_module *module);
ISO_API iso_context *iso_module_context(const iso_module *module);
/* Registers; the child belongs to the parent from then on (freed if the call fails). Names: no '.', unique. Returns
 * child. */
ISO_API iso_module *iso_module_add_child(iso_module *parent, const char *name, iso_module *child);
/* Registers and keeps a tensor; parameters become leaves. Returns it. */
ISO_API iso_tensor *iso_module_add_parameter(iso_module *module, const char *name, iso_tensor *tensor);
ISO_API iso_tensor *iso_module_add_buffer(iso_module *module, const char *name, iso_tensor *tensor);
ISO_API int iso_module_n_children(const iso_module *module);
ISO_API iso_module *iso_module_child(const iso_module *module, int i);
ISO_API const char *iso_module_child_name(const iso_module *module, int i);
/* By dotted name, or NULL without an error. */
ISO_API iso_module *iso_module_find(const iso_module *module, const char *name);
ISO_API iso_tensor *iso_module_find_tensor(const iso_module *module, const char *name);
/* All parameters and buffers, in the order they were registered: a module's parameters, its buffers, then its children.
 * The list belongs to the module and lives until something is added to it. */
ISO_API const iso_named_tensor *iso_module_tensors(iso_module *module, size_t *n);
/* Elements of all parameters. */
ISO_API int64_t iso_module_n_parameters(iso_module *module);

/* The module's result; NULL with the error kept. Modules start in training mode. */
ISO_API iso_tensor *iso_module_forward(iso_module *module, iso_tensor *x);
/* The same for sequences filled up to one length: x is ids (batch,length) or (batch,length,…); lengths i64 (batch) or
 * NULL: a sample's positions from lengths[b] on are padding: whatever they hold, NaN included, the others' bits don't
 * depend on them. What a result holds there is each module's matter. ISO_SHAPE_MISMATCH: lengths of another shape;
 * values are the operators' to check. */
ISO_API iso_tensor *iso_module_forward_sequence(iso_module *module, iso_tensor *x, const iso_tensor *lengths);
ISO_API void iso_module_train(iso_module *module, bool training); /* false: evaluation; children too */
ISO_API bool iso_module_is_training(const iso_module *module);
/* Activation checkpointing (iso_checkpoint): of a module's forward only the input stays in memory, and backward runs it
 * again. Same bits, less memory, about the time of one more forward of it. ISO_STATE in backward when the module was
 * switched between training and evaluation since. It must live until then. */
ISO_API void iso_module_set_checkpointing(iso_module *module, bool on);
ISO_API bool iso_module_is_checkpointing(const iso_module *module);
/* The same for each block that a model is made of (residual blocks, separable convolutions, encoder layers); returns
 * how many there are. */
ISO_API int iso_module_checkpoint_blocks(iso_module *module, bool on);
/* iso_tensor_pack for every parameter of two dimensions or more, or iso_tensor_unpack: for inference. */
ISO_API iso_status iso_module_pack(iso_module *module, bool pack);
typedef struct iso_freeze_options {
  bool fold_batch_norm; /* into the convolutions before them, of Sequential and ResNets: fewer passes, other bits */
} iso_freeze_options;
typedef struct iso_freeze_report {
  int n_packed; /* parameters that are kept packed              */
  int n_folded; /* batch norms; 0: the bits are the module's own */
} iso_freeze_report;
/* Makes the module one of inference, in place: evaluation mode, no gradients (parameters are constants), weights
 * packed. What is fused then (ReLU with what is before it, residuals, what follows products of BERT) keeps the bits.
 * options NULL: exact; report NULL: not told. A module with folded batch norms is another model: it evaluates only, and
 * convolutions have a bias more. After an error of folding its weights are lost. */
ISO_API iso_status iso_module_freeze(iso_module *module, const iso_freeze_options *options, iso_freeze_report *report);
/* Moves every parameter and buffer to a device (iso_to), in place: handles stay valid, gradients are dropped,
 * optimisers are to be made afterwards. On failure what was moved stays moved. */
ISO_API iso_status iso_module_to(iso_module *module, const char *device);
ISO_API void iso_module_zero_grad(iso_module *module);
/* A tree of lines, PyTorch style. Returns the length like snprintf. */
ISO_API int iso_module_describe(const iso_module *module, char *text, size_t n_bytes);

/* ---- layers. Weights start as PyTorch's do, from the context's seed and the ordinal of the initialised tensor ---- */
ISO_API iso_module *iso_linear_module(iso_context *ctx, int64_t in, int64_t out, bool bias);
/* Convolutions (ops.h), plain and transposed. Tensors: weight (out,in/groups,kernel…), transposed
 * (in,out/groups,kernel…), bias (out). Stride, dilation and groups 0: 1. ISO_INVALID_ARGUMENT, with the values in
 * words, for what is no convolution. */
typedef struct iso_conv1d_config {
  int64_t in, out;
  int64_t kernel, stride, pad, dilation, groups;
  bool no_bias;
  int64_t pad_left, pad_right; /* more padding of one side */
  int64_t output_pad;          /* transposed only, less than the stride; likewise below */
} iso_conv1d_config;
typedef struct iso_conv2d_config {
  int64_t in, out;
  int64_t kernel, kernel_w; /* kernel_w 0: square; likewise below */
  int64_t stride, stride_w, pad, pad_w, dilation, dilation_w, groups;
  bool no_bias;
  int64_t pad_top, pad_bottom, pad_left, pad_right;
  int64_t output_pad_h, output_pad_w;
} iso_conv2d_config;
typedef struct iso_conv3d_config {
  int64_t in, out;
  int64_t kernel, kernel_h, kernel_w; /* of depth, height, width; the latter two 0: as depth; likewise below */
  int64_t stride, stride_h, stride_w, pad, pad_h, pad_w, dilation, dilation_h, dilation_w, groups;
  bool no_bias;
  int64_t pad_front, pad_back, pad_top, pad_bottom, pad_left, pad_right;
  int64_t output_pad_d, output_pad_h, output_pad_w;
} iso_conv3d_config;
ISO_API iso_module *iso_conv1d_module(iso_context *ctx, const iso_conv1d_config *config);
ISO_API iso_module *iso_conv2d_module(iso_context *ctx, const iso_conv2d_config *config);
ISO_API iso_module *iso_conv3d_module(iso_context *ctx, const iso_conv3d_config *config);
ISO_API iso_module *iso_conv_transpose1d_module(iso_context *ctx, const iso_conv1d_config *config);
ISO_API iso_module *iso_conv_transpose2d_module(iso_context *ctx, const iso_conv2d_config *config);
ISO_API iso_module *iso_conv_transpose3d_module(iso_context *ctx, const iso_conv3d_config *config);
/* momentum 0: 0.1, eps 0: 1e-5. Tensors: weight, bias, running_mean, running_var. For (N,C) and (N,C,…) of one to three
 * more dimensions. */
ISO_API iso_module *iso_batch_norm_module(iso_context *ctx, int64_t channels, double momentum, double eps);
ISO_API iso_module *iso_dropout_module(iso_context *ctx, double p);
/* Rows of a table by number: index (…) of i64 or i32 → (…,width), or with `mean` the mean of each bag's rows,
 * (bags,n) → (bags,width), 0 for a bag of padding alone. Tensor: weight (rows,width), which starts as N(0,1), the
 * padding's row as 0. With has_padding that row (negative: from the end) has no gradient and no part in means. */
typedef struct iso_embedding_config {
  int64_t rows, width;
  bool mean;
  bool has_padding;
  int64_t padding;
} iso_embedding_config;
ISO_API iso_module *iso_embedding_module(iso_context *ctx, const iso_embedding_config *config);
/* Square windows; pad on every side, at most half the kernel. */
ISO_API iso_module *iso_max_pool2d_module(iso_context *ctx, int64_t kernel, int64_t stride, int64_t pad);
ISO_API iso_module *iso_avg_pool2d_module(iso_context *ctx, int64_t kernel, int64_t stride, int64_t pad);
/* (N,C,H,W) → (N,C). */
ISO_API iso_module *iso_global_avg_pool_module(iso_context *ctx);
/* (N,…) → (N, product). */
ISO_API iso_module *iso_flatten_module(iso_context *ctx);
ISO_API iso_module *iso_relu_module(iso_context *ctx);
ISO_API iso_module *iso_gelu_module(iso_context *ctx);
ISO_API iso_module *iso_silu_module(iso_context *ctx);
ISO_API iso_module *iso_tanh_module(iso_context *ctx);
ISO_API iso_module *iso_sigmoid_module(iso_context *ctx);
/* Children named "0", "1", …; takes them all, even when it fails. A ReLU after Linear, a convolution or BatchNorm is
 * computed with it. */
ISO_API iso_module *iso_sequential(iso_context *ctx, int n, iso_module *const *children);
/* ResNet's basic block: relu(bn2(conv2(relu(bn1(conv1 x)))) + shortcut x), 3×3; the shortcut ("downsample") is a 1×1
 * convolution and batch norm where stride or channels change. He et al., "Deep Residual Learning", 2015. */
ISO_API iso_module *iso_basic_block(iso_context *ctx, int64_t in, int64_t out, int64_t stride);
/* The bottleneck: 1×1 to `width` channels, 3×3 with the stride, 1×1 to 4·width, each with batch norm; otherwise as the
 * basic block. The stride lies in the 3×3, as torchvision has it. */
ISO_API iso_module *iso_bottleneck_block(iso_context *ctx, int64_t in, int64_t width, int64_t stride);

/* ---- models by name ---- */
typedef struct iso_model_config {
  int64_t channels, height, width, classes; /* 0: 1, 28, 28, 10 */
} iso_model_config;
/* "mlp" (256, 128), "cnn" (two convolutions, two linear layers), "resnet8", "resnet18" (for small images, as on
 * CIFAR), "resnet18_imagenet" and "resnet50" (7×7 stem and pooling, as on ImageNet; resnet50 of bottlenecks),
 * "mobilenet" (depthwise separable, Howard et al., 2017). ISO_NOT_FOUND kept for another name. config NULL: the
 * defaults. */
ISO_API iso_module *iso_model_new(iso_context *ctx, const char *name, const iso_model_config *config);
/* NULL-terminated. */
ISO_API const char *const *iso_model_names(void);

/* A classifier of texts as token ids: (batch,length) i64 or i32 → embedding → mean over the tokens that are not padding
 * → linear → (batch,classes). Tensors: embedding.weight, linear.weight, linear.bias. config NULL: the defaults. */
typedef struct iso_text_classifier_config {
  int64_t vocabulary, width, classes; /* 0: 10000, 128, 10 */
  int64_t padding;                    /* the id that fills short rows up */
  bool no_padding;                    /* every id is a token */
} iso_text_classifier_config;
ISO_API iso_module *iso_text_classifier_new(iso_context *ctx, const iso_text_classifier_config *config);

/* ---- initialisers: in place, by logical element, from stream "init" with the given site; f32 and f64. A tensor that
 * has no fan, or the wrong number of axes, is ISO_SHAPE_MISMATCH ---- */
typedef enum iso_fan { ISO_FAN_IN = 0, ISO_FAN_OUT } iso_fan;
/* U(−b,b), b = gain·sqrt(3/fan), and N(0, gain²/fan). gain 0: √2 (relu). Weights (out, in, …). He et al., 2015. */
ISO_API iso_status iso_init_kaiming_uniform(iso_tensor *t, double gain, iso_fan fan, uint32_t site);
ISO_API iso_status iso_init_kaiming_normal(iso_tensor *t, double gain, iso_fan fan, uint32_t site);
/* U(−b,b), b = gain·sqrt(6/(fan_in+fan_out)), and N(0, gain²·2/(fan_in+fan_out)). gain 0: 1. Glorot and Bengio, 2010.
 */
ISO_API iso_status iso_init_xavier_uniform(iso_tensor *t, double gain, uint32_t site);
ISO_API iso_status iso_init_xavier_normal(iso_tensor *t, double gain, uint32_t site);
/* What follows the layer. */
typedef enum iso_nonlinearity {
  ISO_NONLINEARITY_LINEAR = 0, /* and convolutions: 1    */
  ISO_NONLINEARITY_SIGMOID,    /* 1                      */
  ISO_NONLINEARITY_TANH,       /* 5/3                    */
  ISO_NONLINEARITY_RELU,       /* √2                     */
  ISO_NONLINEARITY_LEAKY_RELU, /* √(2/(1 + slope²))      */
  ISO_NONLINEARITY_SELU        /* 3/4                    */
} iso_nonlinearity;
/* The gain that keeps a layer's variance. slope: of ISO_NONLINEARITY_LEAKY_RELU alone. */
ISO_API double iso_init_gain(iso_nonlinearity nonlinearity, double slope);
ISO_API iso_status iso_init_uniform(iso_tensor *t, double a, double b, uint32_t site);
ISO_API iso_status iso_init_normal(iso_tensor *t, double mean, double sd, uint32_t site);
/* options NULL: N(0,1) within [−2,2]. */
ISO_API iso_status iso_init_trunc_normal(iso_tensor *t, const iso_truncated_normal_options *options, uint32_t site);
ISO_API iso_status iso_init_constant(iso_tensor *t, double value);
ISO_API iso_status iso_init_ones(iso_tensor *t);
ISO_API iso_status iso_init_zeros(iso_tensor *t);
/* (n,m): ones on the diagonal, else 0. */
ISO_API iso_status iso_init_eye(iso_tensor *t);
/* (out, in, kernel…) of one to three kernel axes: within each of the groups, channel i passes to channel i, by a one at
 * the kernel's centre (extent/2). groups 0: 1. */
ISO_API iso_status iso_init_dirac(iso_tensor *t, int64_t groups);
/* Rows, or columns where there are fewer, orthonormal, times gain (0: 1): the Q of a normal matrix (first axis, the
 * rest), its signs those of R's diagonal. Saxe et al., "Exact solutions to the nonlinear dynamics of learning", 2014.
 */
ISO_API iso_status iso_init_orthogonal(iso_tensor *t, double gain, uint32_t site);
/* (n,m): N(0, sd²) with ceil(sparsity·n) zeros in each column; which ones: by a permutation drawn at leaf column + 1.
 * sd 0: 0.01. Martens, "Deep learning via Hessian-free optimization", 2010. */
ISO_API iso_status iso_init_sparse(iso_tensor *t, double sparsity, double sd, uint32_t site);
/* The context's next site for an initialiser: what layers use, so a model's weights depend on seed and order alone. */
ISO_API uint32_t iso_init_next_site(iso_context *ctx);
/* Starts the ordinals again, so that the next model equals one made in a fresh context. */
ISO_API void iso_init_restart(iso_context *ctx);

/* ---- optimisers: update the trainable tensors of a list; those without a gradient are left alone ---- */
typedef struct iso_optimizer iso_optimizer;
typedef struct iso_sgd_options {
  double lr; /* 0: 1e-3 */
  double momentum, dampening, weight_decay;
  bool nesterov; /* needs momentum > 0 and dampening 0 */
} iso_sgd_options;
typedef struct iso_adam_options {
  double lr;           /* 0: 1e-3 */
  double beta1, beta2; /* 0: 0.9 and 0.999 */
  double eps;          /* 0: 1e-8 */
  double weight_decay;
  bool decoupled; /* AdamW: the decay scales the parameter, not the gradient (Loshchilov and Hutter, 2019) */
} iso_adam_options;
typedef struct iso_nadam_options {
  double lr;           /* 0: 2e-3 */
  double beta1, beta2; /* 0: 0.9 and 0.999 */
  double eps;          /* 0: 1e-8 */
  double weight_decay;
  double momentum_decay; /* 0: 4e-3; step t's momentum is beta1·(1 − 0.96^(t·momentum_decay)/2) */
  bool decoupled;
} iso_nadam_options;
typedef struct iso_rmsprop_options {
  double lr;    /* 0: 1e-2 */
  double alpha; /* 0: 0.99 */
  double eps;   /* 0: 1e-8 */
  double weight_decay, momentum;
  bool centered; /* by the variance: less the square of the mean gradient */
} iso_rmsprop_options;
typedef struct iso_adagrad_options {
  double lr; /* 0: 1e-2; step t's is lr/(1 + (t − 1)·lr_decay) */
  double lr_decay, weight_decay;
  double initial; /* of the sums of squares */
  double eps;     /* 0: 1e-10 */
} iso_adagrad_options;
typedef struct iso_adadelta_options {
  double lr;  /* 0: 1    */
  double rho; /* 0: 0.9  */
  double eps; /* 0: 1e-6 */
  double weight_decay;
} iso_adadelta_options;
/* The list is copied, its tensors kept alive by their storage; names name the state. */
ISO_API iso_optimizer *iso_sgd_new(iso_context *ctx, size_t n, const iso_named_tensor *tensors,
                                   const iso_sgd_options *options);
ISO_API iso_optimizer *iso_adam_new(iso_context *ctx, size_t n, const iso_named_tensor *tensors,
                                    const iso_adam_options *options);
/* Liu et al., "On the variance of the adaptive learning rate and beyond", 2020. Adam's options and defaults. */
ISO_API iso_optimizer *iso_radam_new(iso_context *ctx, size_t n, const iso_named_tensor *tensors,
                                     const iso_adam_options *options);
/* By the largest magnitude; Kingma and Ba, 2015. lr 0: 2e-3; no decoupled decay. */
ISO_API iso_optimizer *iso_adamax_new(iso_context *ctx, size_t n, const iso_named_tensor *tensors,
                                      const iso_adam_options *options);
/* Dozat, "Incorporating Nesterov momentum into Adam", 2016. */
ISO_API iso_optimizer *iso_nadam_new(iso_context *ctx, size_t n, const iso_named_tensor *tensors,
                                     const iso_nadam_options *options);
/* Tieleman and Hinton, 2012; centred: Graves, 2013. A variance that rounding takes below 0 counts as 0. */
ISO_API iso_optimizer *iso_rmsprop_new(iso_context *ctx, size_t n, const iso_named_tensor *tensors,
                                       const iso_rmsprop_options *options);
/* Duchi, Hazan and Singer, "Adaptive subgradient methods", 2011. */
ISO_API iso_optimizer *iso_adagrad_new(iso_context *ctx, size_t n, const iso_named_tensor *tensors,
                                       const iso_adagrad_options *options);
/* Zeiler, "ADADELTA: an adaptive learning rate method", 2012. */
ISO_API iso_optimizer *iso_adadelta_new(iso_context *ctx, size_t n, const iso_named_tensor *tensors,
                                        const iso_adadelta_options *options);
ISO_API void iso_optimizer_free(iso_optimizer *optimizer); /* before its context; NULL is fine */
/* One update; advances the context's random step. Refuses (that code) while the context has an error. */
ISO_API iso_status iso_optimizer_step(iso_optimizer *optimizer);
ISO_API void iso_optimizer_zero_grad(iso_optimizer *optimizer); /* frees the gradients */
ISO_API double iso_optimizer_lr(const iso_optimizer *optimizer);
ISO_API void iso_optimizer_set_lr(iso_optimizer *optimizer, double lr);
/* true: weight decay leaves parameters of fewer than two axes alone: biases, and the weights of normalisations. */
ISO_API void iso_optimizer_decay_matrices_only(iso_optimizer *optimizer, bool matrices_only);
/* "sgd", "adam", "adamw", "rmsprop", "adagrad", "adadelta", "adamax", "nadam", "radam". */
ISO_API const char *iso_optimizer_name(const iso_optimizer *optimizer);
/* What a resume needs: "NAME.m", "NAME.v", "NAME.u", "NAME.momentum", what of these the kind keeps, "steps" (i64:
 * updates so far of each tensor) and NAdam's "mu_products" (f64). Assign into them. */
ISO_API const iso_named_tensor *iso_optimizer_state(iso_optimizer *optimizer, size_t *n);
/* Scales all gradients by min(1, max_norm/(norm + 1e-6)); *norm (may be NULL) is the norm before, the square root of
 * the ascending sum over tensors of lanes(g·g). */
ISO_API iso_status iso_optimizer_clip_grad_norm(iso_optimizer *optimizer, double max_norm, double *norm);

/* ---- schedules: the learning rate of a step, a pure function of its number ---- */
typedef enum iso_schedule_kind {
  ISO_SCHEDULE_CONSTANT = 0,
  ISO_SCHEDULE_STEP,
  ISO_SCHEDULE_COSINE,
  ISO_SCHEDULE_LINEAR
} iso_schedule_kind;
typedef struct iso_schedule {
  iso_schedule_kind kind;
  double lr;
  uint64_t warmup_steps; /* linear from lr/(warmup_steps+1) up to lr; the rest counts from its end */
  uint64_t period;       /* STEP: steps between decays; COSINE, LINEAR: steps down to min_lr, which then stays */
  double gamma;          /* STEP: factor of each decay; 0: 0.1 */
  double min_lr;         /* COSINE, LINEAR */
} iso_schedule;
/* step counts from 0. */
ISO_API double iso_schedule_lr(const iso_schedule *schedule, uint64_t step);

#ifdef __cplusplus
}
#endif
#endif
