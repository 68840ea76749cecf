/* data.h: image data sets, and the loader that turns them into batches.
 *
 *   iso_dataset *set = iso_dataset_open_idx(ctx, &(iso_idx_options){.split = ISO_SPLIT_TRAIN});
 *   iso_loader *loader = iso_loader_new(ctx, set, &(iso_loader_options){.batch_size = 64, .shuffle = true, .seed = 7});
 *   iso_batch batch;
 *   while (iso_loader_next(loader, &batch)) { ... batch.x is f32 (n,C,H,W), batch.y is i64 (n) ... }
 *   if (iso_error_code(ctx) != ISO_OK) fprintf(stderr, "%s\n", iso_error_message(ctx)); */
#ifndef ISOBIT_DATA_H
#define ISOBIT_DATA_H
#include <isobit/base.h>
#include <isobit/io.h>
#include <isobit/tensor.h>
#ifdef __cplusplus
extern "C" {
#endif

/* ---- image data sets ---- */

/* Images u8 (N,C,H,W) with one label each, in memory or in files, immutable. Loaders share it; it counts its users. */
typedef struct iso_dataset iso_dataset;

typedef enum iso_split { ISO_SPLIT_TRAIN = 0, ISO_SPLIT_TEST = 1 } iso_split;

typedef struct iso_dataset_info {
  int64_t n_samples;
  int channels, height, width, n_classes;
  char hash[33]; /* 128 bits over sizes, pixels and labels, 32 hex digits: names the data in manifests */
} iso_dataset_info;

/* Where Debian's package dataset-fashion-mnist puts its files. */
#define ISO_FASHION_MNIST_FOLDER "/usr/share/datasets/fashion-mnist"

typedef struct iso_idx_options {
  const char *folder; /* NULL: ISO_FASHION_MNIST_FOLDER                                           */
  iso_split split;    /* train: *train*images*idx3*, *train*labels*idx1*; test: t10k or test     */
  int n_classes;      /* labels must be below it; 0: the largest label + 1                        */
  int64_t limit;      /* only the first so many samples; 0: all                                   */
} iso_idx_options;

/* A folder of idx files, plain or gzip: images (N,H,W), or (N,C,H,W) in an idx4 file, and labels (N), both u8.
 * options NULL: the training half of Fashion-MNIST. */
ISO_API iso_dataset *iso_dataset_open_idx(iso_context *ctx, const iso_idx_options *options);

typedef struct iso_image_folder_options {
  const char *folder;          /* FOLDER/class/file.png, .jpg or .jpeg                                  */
  int channels, height, width; /* of the batches, channels 1 or 3; 0: 3, 224, 224                       */
  int64_t n_hashed;            /* images, evenly spread, that are decoded for the hash (and so checked); 0: all    */
} iso_image_folder_options;

/* A folder a class, as torchvision's ImageFolder: classes are the folders' names in byte order, samples the files in
 * byte order of class and name; hidden and other files are passed over. Images of any size; gray and RGB are converted
 * by copying or by luma (BT.601). They are decoded again for every batch, by the loader's workers. Opening decodes on
 * the context's threads, and names the first damaged file. The hash is over names, labels, file sizes, and decoded
 * samples. */
ISO_API iso_dataset *iso_dataset_open_images(iso_context *ctx, const iso_image_folder_options *options);
/* The name of a class of such a folder; NULL for other data sets. */
ISO_API const char *iso_dataset_class_name(const iso_dataset *set, int label);

typedef struct iso_synthetic_options {
  int64_t n_samples;                      /* 0: 1024             */
  int channels, height, width, n_classes; /* 0: 3, 32, 32, 10    */
  int64_t first_sample;                   /* a test set is a later part of the same seed: its classes look alike */
  uint64_t seed;
} iso_synthetic_options;

/* Images that are each the mean of their class's random pattern and noise of their own, labels uniform; all by Philox
 * from the seed. A model can learn them, so a benchmark's loss means something. */
ISO_API iso_dataset *iso_dataset_synthetic(iso_context *ctx, const iso_synthetic_options *options);

/* images u8 (N,H,W) or (N,C,H,W), labels u8, i32 or i64 (N), n_classes as in iso_idx_options. Shares the images'
 * storage where it is dense with C innermost (always so for one channel); it must then not be written to any more. */
ISO_API iso_dataset *iso_dataset_from_tensors(iso_context *ctx, const iso_tensor *images, const iso_tensor *labels,
                                              int n_classes);

ISO_API iso_dataset_info iso_dataset_get_info(const iso_dataset *set); /* NULL: zeros */
ISO_API void iso_dataset_free(iso_dataset *set);                       /* NULL is fine; loaders keep what they use */

/* ---- the loader ---- */

/* Makes batches in an order and with an augmentation that depend on (seed, epoch, sample) alone: a batch has the same
 * bits for any number of workers, after a seek, and whatever the host did to its floating-point mode. */
typedef struct iso_loader iso_loader;

/* How images of any size become the window that the model sees. Zero: the default in brackets. In the order: crop and
 * resize, brightness, contrast, saturation, hue, mirror (flip, below), normalise. Resizing is antialiased bilinear as
 * Pillow defines it, in integers; jitter is in integers, too. */
typedef struct iso_image_transform {
  int height, width; /* [the data set's]                                                                        */
  int resize;        /* shorter side before the central window is cut [so that the window just fits]            */
  bool random_resized_crop;     /* instead: a part of random area and ratio, resized to the window              */
  double scale_low, scale_high; /* its share of the area  [0.08, 1]                                             */
  double ratio_low, ratio_high; /* its width by its height [3/4, 4/3]                                           */
  double brightness, contrast, saturation; /* factors uniform in [max(0, 1 − v), 1 + v], v up to 8               */
  double hue;                              /* turn uniform in [−v, v] of the circle, v up to 1/2                 */
} iso_image_transform;

typedef struct iso_loader_options {
  int64_t batch_size; /* 0: 64                                                                                    */
  int n_workers;      /* threads that make batches ahead; 0: the caller makes each when it asks                   */
  int n_prefetch;     /* batches held or in the making by the workers; 0: two a worker                            */
  bool shuffle;       /* a new permutation each epoch; without it samples come ascending                          */
  bool drop_last;     /* no batch smaller than batch_size                                                         */
  int crop_padding;   /* p > 0: a random window of the image padded by p zero pixels (before normalisation)       */
  bool flip;          /* mirrors every other image left to right, at random                                       */
  uint64_t seed;
  const double *mean, *std; /* one a channel, of pixels scaled to [0, 1]; NULL: 0 and 1. x = (pixel/255 − mean)/std */
  uint32_t n_epochs;        /* iso_loader_next ends after so many; 0: never                                       */
  const iso_image_transform *transform; /* NULL: data sets in memory as they are, files by the defaults           */
  int n_sizes; /* > 0: each batch's window is a square of sides[i], i by (seed, epoch, batch)                  */
  const int *sides;
  int n_leaves, leaf_begin,
      leaf_end;   /* n_leaves > 0: of each batch only the samples of leaves [leaf_begin, leaf_end) */
  bool on_device; /* batches lie on the context's device as it is now, copied there ahead, beside its other work */
} iso_loader_options;

/* Handles belong to the scope that was open when iso_loader_next was called. */
typedef struct iso_batch {
  iso_tensor *x;   /* f32 (n,C,H,W), channels-last storage                     */
  iso_tensor *y;   /* i64 (n)                                                  */
  int64_t n_total; /* samples of the whole batch; more than n under leaf_begin */
  uint32_t epoch;
  int64_t index; /* of the batch in its epoch                                */
} iso_batch;

/* NULL on an error. options NULL: all defaults. */
ISO_API iso_loader *iso_loader_new(iso_context *ctx, iso_dataset *set, const iso_loader_options *options);
ISO_API void iso_loader_free(iso_loader *loader); /* before the context's end; NULL is fine */

/* The next batch, crossing into the next epoch by itself. False at the end of n_epochs or on an error. */
ISO_API bool iso_loader_next(iso_loader *loader, iso_batch *out);
ISO_API int64_t iso_loader_n_batches(const iso_loader *loader); /* of one epoch */

/* Which batch comes next: the whole state of a loader, so what a checkpoint must keep. */
ISO_API void iso_loader_position(const iso_loader *loader, uint32_t *epoch, int64_t *batch);
ISO_API iso_status iso_loader_seek(iso_loader *loader, uint32_t epoch, int64_t batch);

#ifdef __cplusplus
}
#endif
#endif
