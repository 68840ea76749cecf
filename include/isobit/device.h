/* device.h: where tensors lie and operators compute: the CPU, or a CUDA device.
 *
 * A context computes on one device at a time: operators make their results there and take tensors from there alone
 * (iso_to copies one over, iso_module_to a model). Work of a CUDA device is asynchronous: an error of it is kept at the
 * next call that waits for it (reading an element, copying to the CPU, iso_synchronize).
 *
 *   iso_context_set_device(ctx, "cuda:0");
 *   iso_tensor *y = iso_relu(ctx, iso_to(ctx, x, "cuda:0"));
 */
#ifndef ISOBIT_DEVICE_H
#define ISOBIT_DEVICE_H
#include <isobit/base.h>
#ifdef __cplusplus
extern "C" {
#endif

/* "cpu", "cuda" (the first), "cuda:N", or "auto": the first CUDA device that can be used, else the CPU; only "auto"
 * ever falls back. UNSUPPORTED or NOT_FOUND, with the reason, where that device can't be used. */
ISO_API iso_status iso_context_set_device(iso_context *ctx, const char *device);
ISO_API const char *iso_context_device(const iso_context *ctx);
/* Waits for all work of the context's device; the first error of it is kept. */
ISO_API iso_status iso_synchronize(iso_context *ctx);

/* ---- events: moments in the work of a device, to time it by ----
 *
 *   iso_event *begin = iso_event_new(ctx), *end = iso_event_new(ctx);
 *   iso_event_record(begin);
 *   y = iso_matmul(ctx, a, b);
 *   iso_event_record(end);
 *   iso_event_elapsed_ms(begin, end, &ms);
 *
 * What is recorded lies behind all work given to the context's device until then; on the CPU, whose calls have finished
 * when they return, it is the clock. */
typedef struct iso_event iso_event;
/* On the context's device, not yet recorded; NULL with the context's error set. Freed before its context. */
ISO_API iso_event *iso_event_new(iso_context *ctx);
ISO_API void iso_event_free(iso_event *event); /* NULL is fine */
/* Again and again: the last time counts. Does not wait. */
ISO_API iso_status iso_event_record(iso_event *event);
/* Waits for both. STATE: one has not been recorded, or they are of two devices. */
ISO_API iso_status iso_event_elapsed_ms(const iso_event *begin, const iso_event *end, double *ms);

/* ---- is a GPU usable? The steps in order; after the first that fails the others are not tried ---- */
typedef struct iso_device_check {
  const char *step;   /* "driver library" */
  bool passed;        /* false: this is where it fails */
  char found[320];    /* "/usr/lib/x86_64-linux-gnu/libcuda.so.580.159.04, CUDA 13.0" */
  const char *remedy; /* of a step that failed; "" otherwise */
} iso_device_check;
enum { ISO_MAX_DEVICE_CHECKS = 12 };
/* Returns how many steps were tried. All passed: "cuda:0" can be used. */
ISO_API int iso_device_checks(iso_device_check list[ISO_MAX_DEVICE_CHECKS]);

/* What a device holds, in bytes. All 0 for the CPU, whose memory iso_memory_get_info tells. */
typedef struct iso_device_memory {
  size_t live, peak;              /* of blocks in use, rounded to what they take                         */
  size_t reserved;                /* taken from the driver: in use, or kept for reuse                    */
  size_t largest_free;            /* the largest block that is kept: what fits without asking the driver */
  size_t limit;                   /* 0: none                                                             */
  size_t free, total;             /* of the device, by its driver                                        */
  iso_memory_owners now, at_peak; /* of live, and of peak */
} iso_device_memory;
ISO_API iso_device_memory iso_device_get_memory(const iso_context *ctx);

/* ---- vendors' libraries, loaded at run time where they are found ---- */
typedef struct iso_vendor_library {
  const char *name;    /* "cuBLASLt", "cuDNN" */
  bool usable;         /* its engines can be candidates, under levels `off` and `run` */
  char version[32];    /* "9.19.0"; "" */
  char path[512];      /* of the file that was loaded; "" */
  char reason[512];    /* why it is not usable: not found, another version, something missing; "" */
  char searched[1024]; /* the places that were looked at, in order, up to where it was found */
} iso_vendor_library;
enum { ISO_MAX_VENDOR_LIBRARIES = 4 };
/* Looks for them at the first call (it loads them), in this order: the file or folder that ISOBIT_CUBLASLT or
 * ISOBIT_CUDNN names, and nothing else; the loader's places (LD_LIBRARY_PATH, the system's); /usr/local/cuda/lib64;
 * nvidia/… in the site-packages of $VIRTUAL_ENV, $CONDA_PREFIX, PATH's python3, $HOME/.local, /usr/local and /usr.
 * Returns how many there are. */
ISO_API int iso_vendor_libraries(iso_vendor_library list[ISO_MAX_VENDOR_LIBRARIES]);

/* ---- what the GPUs of this machine are doing, whoever uses them: NVIDIA's management library, loaded when opened ----
 */
typedef struct iso_monitor iso_monitor;
typedef struct iso_device_sample {
  int index;                              /* as nvidia-smi counts; CUDA programs may see another order */
  char name[96];                          /* "NVIDIA H200" */
  double utilization, memory_utilization; /* percent of the last moments in which kernels ran, memory moved */
  double memory_used, memory_total;       /* bytes */
  double sm_mhz, memory_mhz, temperature_c, power_w, power_limit_w;
  /* Any of them is NAN where the device, the driver or its rights don't tell. */
  char limited_by[64]; /* what keeps the clock down: "power", "heat"; "": nothing, or it is idle */
  char error[128];     /* of the first question that failed, but for those that are not supported; "" */
} iso_device_sample;
/* Opens libnvidia-ml.so.1, or the file that ISOBIT_NVML names; works in builds without CUDA too. NOT_FOUND: there is no
 * such library; UNSUPPORTED: it lacks a call that is needed; DEVICE_ERROR: it finds no driver. `why` says what was
 * searched or failed, and what to do. */
ISO_API iso_status iso_monitor_open(iso_monitor **out, char *why, size_t n_bytes);
ISO_API void iso_monitor_close(iso_monitor *monitor);                /* NULL is fine */
ISO_API const char *iso_monitor_library(const iso_monitor *monitor); /* the file's path */
ISO_API int iso_monitor_n_devices(const iso_monitor *monitor);
/* The i-th device as it is now; false beyond the last. What cannot be told is said in the sample. */
ISO_API bool iso_monitor_read(const iso_monitor *monitor, int i, iso_device_sample *out);
/* The index of "cuda" or "cuda:N"; −1 with `why`. In builds without CUDA, which cannot ask for CUDA's order, it is N.
 */
ISO_API int iso_monitor_find(const iso_monitor *monitor, const char *device, char *why, size_t n_bytes);

/* What an architecture is good for, by compute capability ("9.0"): tensor cores, TF32, bf16; NULL: none that is known.
 */
ISO_API const char *iso_device_advice(int major, int minor);

#ifdef __cplusplus
}
#endif
#endif
