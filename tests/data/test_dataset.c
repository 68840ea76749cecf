/* test_dataset.c: image data sets: folders found by name, counts and labels checked, the content hash, synthetic
 * images. */
#include <isobit/data.h>
#include "data/dataset.h"
#include "io/io_test.h"

/* Writes n images (h,w) counting up and n labels i mod n_classes under the two names. */
static void put_set(iso_context *ctx, const char *folder, const char *images_name, const char *labels_name,
                    int64_t n_images, int64_t n_labels, int n_classes) {
  char path[600];
  iso_scope_push(ctx);
  iso_tensor *images = iso_tensor_new(ctx, ISO_U8, 3, ISO_DIMS(n_images, 4, 5));
  iso_tensor *labels = iso_tensor_new(ctx, ISO_U8, 1, &n_labels);
  for (int64_t i = 0; i < n_images * 20; i++) ((uint8_t *)iso_tensor_data(images))[i] = (uint8_t)i;
  for (int64_t i = 0; i < n_labels; i++) ((uint8_t *)iso_tensor_data(labels))[i] = (uint8_t)(i % n_classes);
  assert_int_equal(iso_idx_write(ctx, join(path, folder, images_name), images), ISO_OK);
  assert_int_equal(iso_idx_write(ctx, join(path, folder, labels_name), labels), ISO_OK);
  iso_scope_pop(ctx);
}

static void test_folder(void **state) {
  (void)state;
  char folder[256];
  make_folder(folder);
  iso_context *ctx = new_context();
  put_set(ctx, folder, "train7-images-idx3-ubyte", "train7-labels-idx1-ubyte", 7, 7, 3);
  put_set(ctx, folder, "t10k-images-idx3-ubyte.gz", "t10k-labels-idx1-ubyte.gz", 4, 4, 2);
  const size_t live = iso_memory_get_info(ctx).live_bytes;
  iso_dataset *train = iso_dataset_open_idx(ctx, &(iso_idx_options){.folder = folder});
  expect_ok(ctx);
  iso_dataset_info info = iso_dataset_get_info(train);
  assert_int_equal(info.n_samples, 7);
  assert_int_equal(info.channels, 1);
  assert_int_equal(info.height, 4);
  assert_int_equal(info.width, 5);
  assert_int_equal(info.n_classes, 3);
  assert_int_equal(train->pixels[27], 27);
  assert_int_equal(train->labels[5], 2);
  iso_dataset *test =
      iso_dataset_open_idx(ctx, &(iso_idx_options){.folder = folder, .split = ISO_SPLIT_TEST, .n_classes = 3});
  expect_ok(ctx);
  assert_int_equal(iso_dataset_get_info(test).n_samples, 4);
  iso_dataset *cut = iso_dataset_open_idx(ctx, &(iso_idx_options){.folder = folder, .limit = 4, .n_classes = 3});
  expect_ok(ctx);
  assert_int_equal(iso_dataset_get_info(cut).n_samples, 4);
  assert_string_not_equal(info.hash, iso_dataset_get_info(cut).hash);
  iso_dataset_free(cut);
  iso_dataset_free(test);
  iso_dataset_free(train);
  assert_int_equal(iso_memory_get_info(ctx).live_bytes, live);
  iso__context_free(ctx);
  remove_folder(folder);
}

static void test_bad_folders(void **state) {
  (void)state;
  char folder[256], path[600];
  make_folder(folder);
  iso_context *ctx = new_context();
  iso_idx_options options = {.folder = folder};
  assert_null(iso_dataset_open_idx(ctx, &options));
  expect_error(ctx, ISO_NOT_FOUND, "holds no training images: no file is called *train*images*idx[34]*");
  assert_null(iso_dataset_open_idx(ctx, &(iso_idx_options){.folder = "/no/such/folder"}));
  expect_error(ctx, ISO_NOT_FOUND, "/no/such/folder: cannot open the folder");
  assert_null(iso_dataset_open_idx(ctx, &(iso_idx_options){.folder = folder, .limit = -1}));
  expect_error(ctx, ISO_INVALID_ARGUMENT, "limit is -1");

  put_set(ctx, folder, "train-images-idx3-ubyte", "train-labels-idx1-ubyte", 6, 5, 3);
  assert_null(iso_dataset_open_idx(ctx, &options));
  expect_error(ctx, ISO_CORRUPT, "train-labels-idx1-ubyte: holds 5 labels, but train-images-idx3-ubyte holds 6 images");
  put_set(ctx, folder, "train-images-idx3-ubyte", "train-labels-idx1-ubyte", 6, 6, 4);
  options.n_classes = 3;
  assert_null(iso_dataset_open_idx(ctx, &options));
  expect_error(ctx, ISO_CORRUPT, "train-labels-idx1-ubyte: label 3 is 3, expected 0 to 2");
  options.n_classes = 0;

  /* a gzip of the same name is the same file; another name is a question */
  put_file(join(path, folder, "train-images-idx3-ubyte.gz"), "rubbish", 7);
  iso_dataset *set = iso_dataset_open_idx(ctx, &options);
  expect_ok(ctx);
  iso_dataset_free(set);
  put_file(join(path, folder, "old-train-images-idx3-ubyte"), "rubbish", 7);
  assert_null(iso_dataset_open_idx(ctx, &options));
  expect_error(ctx, ISO_INVALID_ARGUMENT,
               "two files could be the training images: 'old-train-images-idx3-ubyte' and 'train-images-idx3-ubyte");
  unlink(path);
  put_file(join(path, folder, "train-images-idx3-ubyte"), "rubbish", 7);
  assert_null(iso_dataset_open_idx(ctx, &options));
  expect_error(ctx, ISO_CORRUPT, "train-images-idx3-ubyte: idx magic is 0x72756262");
  iso__context_free(ctx);
  remove_folder(folder);
}

static void test_from_tensors(void **state) {
  (void)state;
  iso_context *ctx = new_context();
  iso_tensor *planar = iso_tensor_new(ctx, ISO_U8, 4, ISO_DIMS(2, 3, 2, 2));
  for (int i = 0; i < 24; i++) ((uint8_t *)iso_tensor_data(planar))[i] = (uint8_t)(10 * i);
  iso_tensor *last = iso_tensor_new_channels_last(ctx, ISO_U8, 4, ISO_DIMS(2, 3, 2, 2));
  assert_int_equal(iso_tensor_assign(last, planar), ISO_OK);
  iso_tensor *labels = iso_tensor_copy_from(ctx, ISO_I64, 1, ISO_DIMS(2), (int64_t[]){4, 1});
  iso_dataset *a = iso_dataset_from_tensors(ctx, planar, labels, 0),
              *b = iso_dataset_from_tensors(ctx, last, labels, 5);
  expect_ok(ctx);
  assert_memory_equal(a->pixels, ((uint8_t[]){0, 40, 80, 10, 50, 90, 20, 60, 100, 30, 70, 110}), 12);
  assert_string_equal(iso_dataset_get_info(a).hash, iso_dataset_get_info(b).hash);
  assert_ptr_equal(b->pixels, iso_tensor_data(last)); /* shared */
  assert_int_equal(iso_dataset_get_info(a).n_classes, 5);
  iso_dataset_free(a);
  iso_dataset_free(b);

  assert_null(iso_dataset_from_tensors(ctx, iso_tensor_zeros(ctx, ISO_F32, 3, ISO_DIMS(2, 2, 2)), labels, 0));
  expect_error(ctx, ISO_DTYPE_MISMATCH, "images are f32, expected u8");
  assert_null(iso_dataset_from_tensors(ctx, iso_tensor_zeros(ctx, ISO_U8, 2, ISO_DIMS(2, 2)), labels, 0));
  expect_error(ctx, ISO_SHAPE_MISMATCH, "images have shape (2,2)");
  assert_null(iso_dataset_from_tensors(ctx, iso_tensor_zeros(ctx, ISO_U8, 3, ISO_DIMS(0, 2, 2)), labels, 0));
  expect_error(ctx, ISO_SHAPE_MISMATCH, "images have shape (0,2,2)");
  assert_null(iso_dataset_from_tensors(ctx, planar, iso_tensor_zeros(ctx, ISO_I32, 1, ISO_DIMS(3)), 0));
  expect_error(ctx, ISO_SHAPE_MISMATCH, "labels have shape (3), but there are 2 images");
  assert_null(iso_dataset_from_tensors(ctx, planar, iso_tensor_full(ctx, ISO_I32, 1, ISO_DIMS(2), -1), 0));
  expect_error(ctx, ISO_CORRUPT, "label 0 is -1");
  assert_null(iso_dataset_from_tensors(ctx, planar, NULL, 0));
  expect_error(ctx, ISO_INVALID_ARGUMENT, "labels are NULL");
  assert_null(iso_dataset_from_tensors(ctx, planar, labels, -1));
  expect_error(ctx, ISO_INVALID_ARGUMENT, "n_classes is -1");
  iso__context_free(ctx);
}

static void test_synthetic(void **state) {
  (void)state;
  iso_context *ctx = new_context();
  const iso_synthetic_options options = {
      .n_samples = 300, .channels = 2, .height = 5, .width = 3, .n_classes = 4, .seed = 9};
  iso_synthetic_options other = options;
  other.seed++;
  iso_dataset *a = iso_dataset_synthetic(ctx, &options), *b = iso_dataset_synthetic(ctx, &options);
  iso_dataset *c = iso_dataset_synthetic(ctx, &other);
  expect_ok(ctx);
  assert_string_equal(iso_dataset_get_info(a).hash, iso_dataset_get_info(b).hash);
  assert_string_not_equal(iso_dataset_get_info(a).hash, iso_dataset_get_info(c).hash);
  /* written down once: a change would change every published run on synthetic data */
  assert_string_equal(iso_dataset_get_info(a).hash, "e850e4900caaa624a8285e71984f1144");
  int n_of[4] = {0};
  for (int i = 0; i < 300; i++) n_of[a->labels[i]]++;
  for (int k = 0; k < 4; k++) assert_in_range(n_of[k], 40, 110);
  other = options, other.n_samples = 100, other.first_sample = 200;
  iso_dataset *end = iso_dataset_synthetic(ctx, &other);
  expect_ok(ctx);
  assert_memory_equal(end->pixels, a->pixels + 200 * 30, 100 * 30);
  assert_memory_equal(end->labels, a->labels + 200, 100 * sizeof(int32_t));
  iso_dataset_free(end);
  iso_dataset_free(a);
  iso_dataset_free(b);
  iso_dataset_free(c);
  assert_null(iso_dataset_synthetic(ctx, &(iso_synthetic_options){.n_samples = -1}));
  expect_error(ctx, ISO_INVALID_ARGUMENT, "images (-1,3,32,32) of 10 classes from sample 0 on cannot be made");
  iso__context_free(ctx);
}

static bool attempt_synthetic(iso_context *ctx, void *arg) {
  iso_dataset *set = iso_dataset_synthetic(ctx, arg);
  iso_dataset_free(set);
  return set != NULL;
}

static bool attempt_open(iso_context *ctx, void *arg) {
  iso_dataset *set = iso_dataset_open_idx(ctx, arg);
  iso_dataset_free(set);
  return set != NULL;
}

static void test_without_memory(void **state) {
  (void)state;
  char folder[256];
  make_folder(folder);
  iso_context *ctx = new_context();
  put_set(ctx, folder, "train-images-idx3-ubyte.gz", "train-labels-idx1-ubyte.gz", 7, 7, 3);
  iso_synthetic_options synthetic = {.n_samples = 3};
  iso_idx_options options = {.folder = folder, .limit = 3};
  assert_true(fail_every_allocation(ctx, attempt_synthetic, &synthetic) >= 8);
  assert_true(fail_every_allocation(ctx, attempt_open, &options) >= 12);
  iso__context_free(ctx);
  remove_folder(folder);
}

static void test_fashion_mnist(void **state) {
  (void)state;
  char path[600];
  shared_file(path, "fashion_mnist_small");
  iso_context *ctx = new_context();
  iso_dataset *train = iso_dataset_open_idx(ctx, &(iso_idx_options){.folder = path, .n_classes = 10});
  iso_dataset *test =
      iso_dataset_open_idx(ctx, &(iso_idx_options){.folder = path, .split = ISO_SPLIT_TEST, .n_classes = 10});
  expect_ok(ctx);
  assert_int_equal(iso_dataset_get_info(train).n_samples, 6000);
  assert_int_equal(iso_dataset_get_info(test).n_samples, 1000);
  assert_int_equal(iso_dataset_get_info(test).height, 28);
  if (access(ISO_FASHION_MNIST_FOLDER, R_OK) == 0) { /* the small set is its beginning */
    iso_dataset *first = iso_dataset_open_idx(ctx, &(iso_idx_options){.limit = 6000, .n_classes = 10});
    expect_ok(ctx);
    assert_string_equal(iso_dataset_get_info(first).hash, iso_dataset_get_info(train).hash);
    iso_dataset_free(first);
  }
  iso_dataset_free(train);
  iso_dataset_free(test);
  iso__context_free(ctx);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_folder),    cmocka_unit_test(test_bad_folders),    cmocka_unit_test(test_from_tensors),
      cmocka_unit_test(test_synthetic), cmocka_unit_test(test_without_memory), cmocka_unit_test(test_fashion_mnist),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
