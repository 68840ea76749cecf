/* cudnn.c: convolutions by cuDNN 9, float32 by FMAs (no TF32), channels-last, in three directions.
 *
 * A row is a kind of its algorithms: sums of products by tiles (implicit or explicit matrices), Winograd, FFT, and
 * those that add by atomics. Each but the last is an opaque class: what the library says of determinism is asked for
 * every problem, and a row for level `run` takes only what it calls deterministic. The algorithm is the first of the
 * kind in the library's own order (its heuristics, nothing timed). cuDNN wants tensors on 16 bytes; operands that are
 * not are computed by the class reference's kernel, an element a thread: slow, but such operands are views that begin
 * at odd places. */
#ifdef ISO_HAS_CUDA
#  include <stdio.h>
#  include <stdlib.h>
#  include "device/cuda/cuda.h"
#  include "device/vendor/library.h"
#  include "kernels/conv/conv.h"
#  include "kernels/cuda/cost.h"
#  include "kernels/vendor/made.h"

void iso__conv_fwd_elements_cuda_run(const iso__call *call);
void iso__conv_bwd_data_elements_cuda_run(const iso__call *call);
void iso__conv_bwd_weights_elements_cuda_run(const iso__call *call);

/* ---- of the library's interface (cudnn_ops.h, cudnn_cnn.h of version 9), what is used ---- */
typedef struct nn_choice { /* cudnnConvolution…AlgoPerf_t */
  int algo, status;
  float time;
  size_t memory;
  int determinism, math;
  int reserved[3];
} nn_choice;
enum { NN_NHWC = 1, NN_FLOAT = 0, NN_CROSS_CORRELATION = 1, NN_FMA_MATH = 3, NN_DETERMINISTIC = 1 };
typedef int nn_ask(void *handle, void *first, void *second, void *conv, void *out, int n_wanted, int *n,
                   nn_choice *choices);
typedef int nn_run(void *handle, const void *alpha, void *first_desc, const void *first, void *second_desc,
                   const void *second, void *conv, int algo, void *workspace, size_t workspace_bytes, const void *beta,
                   void *out_desc, void *out);
static struct {
  int (*Create)(void **handle);
  int (*SetStream)(void *handle, void *stream);
  int (*CreateTensorDescriptor)(void **desc);
  int (*SetTensor4dDescriptor)(void *desc, int format, int type, int n, int c, int h, int w);
  int (*CreateFilterDescriptor)(void **desc);
  int (*SetFilter4dDescriptor)(void *desc, int type, int format, int k, int c, int h, int w);
  int (*CreateConvolutionDescriptor)(void **desc);
  int (*SetConvolution2dDescriptor)(void *desc, int pad_h, int pad_w, int stride_h, int stride_w, int dilation_h,
                                    int dilation_w, int mode, int type);
  int (*SetConvolutionGroupCount)(void *desc, int groups);
  int (*SetConvolutionMathType)(void *desc, int math);
  nn_ask *GetConvolutionForwardAlgorithm_v7, *GetConvolutionBackwardDataAlgorithm_v7,
      *GetConvolutionBackwardFilterAlgorithm_v7;
  nn_run *ConvolutionForward, *ConvolutionBackwardData, *ConvolutionBackwardFilter;
} nn;
enum { MAX_DEVICES = 16, MAX_CHOICES = 16, ALIGNMENT = 16 };
static void *handles[MAX_DEVICES];
static iso__vendor_made made = {.mutex = PTHREAD_MUTEX_INITIALIZER};

/* The device's handle; NULL: the library has none for it. */
static void *handle_of(int device) {
  const iso__vendor_library *l = iso__vendor_library_of(ISO__CUDNN);
  if (!l->handle || device < 0 || device >= MAX_DEVICES) return NULL;
  if (!nn.Create) {
#  define TAKE(name) *(void **)&nn.name = iso__vendor_symbol(l, "cudnn" #  name)
    TAKE(SetStream);
    TAKE(CreateTensorDescriptor);
    TAKE(SetTensor4dDescriptor);
    TAKE(CreateFilterDescriptor);
    TAKE(SetFilter4dDescriptor);
    TAKE(CreateConvolutionDescriptor);
    TAKE(SetConvolution2dDescriptor);
    TAKE(SetConvolutionGroupCount);
    TAKE(SetConvolutionMathType);
    TAKE(GetConvolutionForwardAlgorithm_v7);
    TAKE(GetConvolutionBackwardDataAlgorithm_v7);
    TAKE(GetConvolutionBackwardFilterAlgorithm_v7);
    TAKE(ConvolutionForward);
    TAKE(ConvolutionBackwardData);
    TAKE(ConvolutionBackwardFilter);
    TAKE(Create);
#  undef TAKE
  }
  if (!handles[device] && nn.Create(&handles[device]) != 0) handles[device] = NULL;
  return handles[device];
}

/* ---- kinds ---- */

typedef enum kind { TILES, ATOMICS, N_KINDS } kind;
/* Bits of the library's algorithm numbers, by direction and kind. */
static const unsigned algorithms[3][N_KINDS] = {{[TILES] = 1u << 0 | 1u << 1 | 1u << 2 | 1u << 3},
                                                {[TILES] = 1u << 1, [ATOMICS] = 1u << 0},
                                                {[TILES] = 1u << 1, [ATOMICS] = 1u << 0 | 1u << 3}};
static int direction_of(const iso__problem *problem) {
  return problem->op == ISO__OP_CONV_FWD ? 0 : problem->op == ISO__OP_CONV_BWD_DATA ? 1 : 2;
}

/* ---- what is made for a problem ---- */

typedef struct convolution {
  void *x, *y, *w, *conv; /* descriptors; those of dx and dw are alike */
  int algo;
  size_t workspace;
  bool good;
} convolution;

static void *tensor(int64_t n, int64_t c, int64_t h, int64_t w) {
  void *desc = NULL;
  if (nn.CreateTensorDescriptor(&desc) != 0) return NULL;
  return nn.SetTensor4dDescriptor(desc, NN_NHWC, NN_FLOAT, (int)n, (int)c, (int)h, (int)w) == 0 ? desc : NULL;
}
static void *filter(const iso_conv_problem *p) {
  void *desc = NULL;
  if (nn.CreateFilterDescriptor(&desc) != 0) return NULL;
  const int status =
      nn.SetFilter4dDescriptor(desc, NN_FLOAT, NN_NHWC, (int)p->k, (int)(p->c / p->groups), (int)p->r, (int)p->s);
  return status == 0 ? desc : NULL;
}
static void *attributes(const iso_conv_problem *p) {
  void *desc = NULL;
  if (nn.CreateConvolutionDescriptor(&desc) != 0) return NULL;
  const bool set =
      nn.SetConvolution2dDescriptor(desc, (int)p->pad_top, (int)p->pad_left, (int)p->stride_h, (int)p->stride_w,
                                    (int)p->dilation_h, (int)p->dilation_w, NN_CROSS_CORRELATION, NN_FLOAT) == 0 &&
      nn.SetConvolutionGroupCount(desc, (int)p->groups) == 0 && nn.SetConvolutionMathType(desc, NN_FMA_MATH) == 0;
  return set ? desc : NULL;
}

static void *make(int row, const iso__problem *problem, int device) {
  const iso_conv_problem *p = (const iso_conv_problem *)problem;
  convolution *c = calloc(1, sizeof *c);
  nn_choice choices[MAX_CHOICES];
  int n = 0, status = -1;
  if (!c) return NULL;
  c->x = tensor(p->n, p->c, p->h, p->w), c->y = tensor(p->n, p->k, iso__conv_out_h(p), iso__conv_out_w(p));
  c->w = filter(p), c->conv = attributes(p);
  if (!c->x || !c->y || !c->w || !c->conv) return c;
  void *const handle = handles[device];
  const int direction = direction_of(problem);
  if (direction == 0)
    status = nn.GetConvolutionForwardAlgorithm_v7(handle, c->x, c->w, c->conv, c->y, MAX_CHOICES, &n, choices);
  if (direction == 1)
    status = nn.GetConvolutionBackwardDataAlgorithm_v7(handle, c->w, c->y, c->conv, c->x, MAX_CHOICES, &n, choices);
  if (direction == 2)
    status = nn.GetConvolutionBackwardFilterAlgorithm_v7(handle, c->x, c->y, c->conv, c->w, MAX_CHOICES, &n, choices);
  for (int i = 0; status == 0 && i < n && !c->good; i++) {
    const nn_choice *found = &choices[i];
    if (found->status != 0 || found->math != NN_FMA_MATH || !(algorithms[direction][row] >> found->algo & 1)) continue;
    if (row != ATOMICS && found->determinism != NN_DETERMINISTIC) continue;
    c->algo = found->algo, c->workspace = found->memory, c->good = true;
  }
  return c;
}

/* The mutex is held. NULL: there is no device or library, or no memory. */
static const convolution *convolution_of(kind row, const iso__problem *problem) {
  const int device = iso__cuda_current_device();
  return handle_of(device) ? iso__vendor_made_get(&made, (int)row, problem, device, make) : NULL;
}

/* ---- the rows ---- */

static const char *applicable(kind row, const iso__problem *problem) {
  const iso_conv_problem *p = (const iso_conv_problem *)problem;
  const char *why = iso__conv_plain_applicable(problem);
  if (why) return why;
  if (p->has_bias || p->has_residual || p->activation) return "computes no epilogue";
  if (p->pad_top != p->pad_bottom || p->pad_left != p->pad_right) return "the padding is not the same on both sides";
  const int64_t out_h = iso__conv_out_h(p), out_w = iso__conv_out_w(p);
  if (p->n < 1 || p->c < 1 || p->k < 1 || p->h < 1 || p->w < 1 || p->r < 1 || p->s < 1 || out_h < 1 || out_w < 1)
    return "an operand is empty";
  if (p->n * p->c * p->h * p->w > INT32_MAX || p->n * p->k * out_h * out_w > INT32_MAX ||
      p->k * p->c * p->r * p->s > INT32_MAX)
    return "an operand has more than 2^31 elements";
  if (iso__cuda_current_device() < 0) return "no CUDA device is open";
  pthread_mutex_lock(&made.mutex);
  const convolution *c = convolution_of(row, problem);
  const bool good = c && c->good;
  pthread_mutex_unlock(&made.mutex);
  return good ? NULL : "the library has no algorithm of this kind for it";
}

static size_t workspace(kind row, const iso__problem *problem) {
  pthread_mutex_lock(&made.mutex);
  const convolution *c = convolution_of(row, problem);
  const size_t n_bytes = c ? c->workspace : 0;
  pthread_mutex_unlock(&made.mutex);
  return n_bytes;
}

static int start(const convolution *c, const iso__call *call, int direction, void *handle) {
  const iso_conv_args *a = call->args;
  const float one = 1, zero = 0;
  if (direction == 0)
    return nn.ConvolutionForward(handle, &one, c->x, a->x, c->w, a->w, c->conv, c->algo, call->workspace,
                                 call->workspace_bytes, &zero, c->y, a->y);
  if (direction == 1)
    return nn.ConvolutionBackwardData(handle, &one, c->w, a->w, c->y, a->dy, c->conv, c->algo, call->workspace,
                                      call->workspace_bytes, &zero, c->x, a->dx);
  return nn.ConvolutionBackwardFilter(handle, &one, c->x, a->x, c->y, a->dy, c->conv, c->algo, call->workspace,
                                      call->workspace_bytes, &zero, c->w, a->dw);
}

static void run(kind row, const iso__call *call) {
  static void (*const by_elements[])(const iso__call *) = {
      iso__conv_fwd_elements_cuda_run, iso__conv_bwd_data_elements_cuda_run, iso__conv_bwd_weights_elements_cuda_run};
  const iso_conv_args *a = call->args;
  void *const stream = iso__cuda_context_stream(call->ctx); /* which makes its device this thread's */
  const int direction = direction_of(call->problem), device = iso__cuda_current_device();
  const void *const pointers[3][3] = {{a->x, a->w, a->y}, {a->dy, a->w, a->dx}, {a->x, a->dy, a->dw}};
  if (!iso__vendor_aligned(ALIGNMENT, 3, pointers[direction])) {
    by_elements[direction](call);
    return;
  }
  pthread_mutex_lock(&made.mutex);
  const convolution *c = convolution_of(row, call->problem);
  int status = c ? nn.SetStream(handles[device], stream) : -1;
  if (status == 0) status = start(c, call, direction, handles[device]);
  pthread_mutex_unlock(&made.mutex);
  if (status != 0) ISO__FAIL(call->ctx, ISO_DEVICE_ERROR, call->engine->name, "cuDNN gives status %d", status);
}

/* Rates of float32 layers on one chip of this kind, GFLOP/s: few channels fill a tile badly. */
static double cost(kind row, const iso__problem *problem) {
  static const double gflops[3][N_KINDS] = {{[TILES] = 70e3, [ATOMICS] = 1}, {40e3, 2e3}, {25e3, 35e3}}, half_full = 32;
  const iso_conv_problem *p = (const iso_conv_problem *)problem;
  const double c = (double)p->c / (double)p->groups, k = (double)p->k / (double)p->groups;
  const double filled = c / (c + half_full) * k / (k + half_full);
  const double flops = iso__the_registry.operators[problem->op]->flops(problem);
  return iso__cuda_memory_cost(problem, 2) + 10000 + flops / (gflops[direction_of(problem)][row] * filled);
}

#  define ROW(name, row)                                                                                               \
    const char *iso__conv_cudnn_##name##_applicable(const iso__problem *problem) { return applicable(row, problem); }  \
    size_t iso__conv_cudnn_##name##_workspace(const iso__problem *problem, int n) {                                    \
      return (void)n, workspace(row, problem);                                                                         \
    }                                                                                                                  \
    double iso__conv_cudnn_##name##_cost(const iso__problem *problem, int n) { return (void)n, cost(row, problem); }   \
    void iso__conv_cudnn_##name##_run(const iso__call *call) { run(row, call); }
ROW(tiles, TILES)
ROW(atomics, ATOMICS)
#else
typedef int iso__no_cudnn; /* a build without CUDA */
#endif
