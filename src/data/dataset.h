/* dataset.h: the images of a data set in memory, shared by loaders and their threads. */
#ifndef ISO_DATA_DATASET_H
#define ISO_DATA_DATASET_H
#include <isobit/data.h>
#include "io/image.h"
#include "tensor/tensor.h"

/* The files of a set of images that are decoded when they are asked for. */
typedef struct iso__image_files {
  int64_t n_files;
  int n_classes;
  size_t n_text;
  char *text;       /* paths and class names, each ended by a NUL */
  int64_t *paths;   /* (n_files): where in text */
  int64_t *classes; /* (n_classes) */
} iso__image_files;

/* Immutable once made; whoever keeps one retains it. */
struct iso_dataset {
  atomic_int n_refs;
  iso__heap *heap;
  iso__storage *storage;  /* of the pixels */
  const uint8_t *pixels;  /* (N,H,W,C) */
  iso__image_files files; /* n_files 0: the images are `pixels` */
  int32_t *labels;        /* (N), below n_classes */
  iso_dataset_info info;
};

static inline int64_t iso__dataset_sample_bytes(const iso_dataset *set) {
  return (int64_t)set->info.channels * set->info.height * set->info.width;
}
void iso__dataset_retain(iso_dataset *set);
void iso__image_files_release(iso__heap *heap, iso__image_files *files);
/* File i, read and decoded into a block of the heap, *n_bytes large; NULL with a fault. Needs no context: any thread.
 */
uint8_t *iso__image_files_decode(const iso__image_files *files, iso__heap *heap, int64_t i, iso__image_info *info,
                                 size_t *n_bytes, iso__image_fault *fault);

/* What iso_dataset_from_tensors does; messages begin with the names. */
iso_dataset *iso__dataset_make(iso_context *ctx, const iso_tensor *images, const char *images_name,
                               const iso_tensor *labels, const char *labels_name, int n_classes);

/* The loader stream's sites (docs/numerics.md, random numbers): leaf is the epoch, step the sample. Never renumbered.
 */
enum {
  ISO__PURPOSE_ORDER = 0,        /* element i: 64-bit draw that sample i sorts by, step 0          */
  ISO__PURPOSE_CROP = 1,         /* elements 0, 1: row and column of the window                    */
  ISO__PURPOSE_FLIP = 2,         /* element 0: mirrored where its top bit is set                   */
  ISO__PURPOSE_LABEL = 3,        /* synthetic data, epoch 0: the label                             */
  ISO__PURPOSE_NOISE = 4,        /* synthetic data: four pixels a word                             */
  ISO__PURPOSE_PATTERN = 5,      /* synthetic data: the class's pattern, step = class              */
  ISO__PURPOSE_RESIZED_CROP = 6, /* elements 4a … 4a + 3: attempt a's area, ratio, row, column     */
  ISO__PURPOSE_JITTER = 7,       /* elements 0 … 3: brightness, contrast, saturation, hue          */
  ISO__PURPOSE_SIZE = 8,         /* element 0: the batch's size, step = batch                      */
  ISO__PURPOSE_BATCHES = 9,      /* element i: 64-bit draw that batch i of texts sorts by, step 0   */
  ISO__PURPOSE_HELD_OUT = 10     /* element i: 64-bit draw that row i sorts by, epoch and step 0    */
};
/* A word's place in [0, n): the high half of the product. */
static inline uint32_t iso__word_below(uint32_t word, uint32_t n) { return (uint32_t)((uint64_t)word * n >> 32); }

#endif
