/* test_images.c: folders of images and their transforms: sorted classes, the same bits for any number of workers, after
 * a seek and from memory or files; resizing by its definition; crops and colours within their bounds; damage named. */
#include <isobit/data.h>
#include <math.h>
#include "base/hash.h"
#include "data/loader.h"
#include "io/io_test.h"

static const char *const names[] = {"bee/2.PNG", "bee/10.png", "ant/x.jpg",       "cat/a.jpeg",
                                    "cat/b.png", "ant/y.png",  "cat/.hidden.png", "cat/readme.txt"};
enum { N_NAMES = 8, N_IMAGES = 6, N_CLASSES = 3 };

/* Pictures of different sizes, gray and RGB, with edges everywhere. */
static iso_tensor *picture(iso_context *ctx, int i) {
  const int64_t c = i % 3 ? 3 : 1, h = 20 + 7 * i, w = 41 - 3 * i;
  static uint8_t data[3 * 80 * 80];
  for (int64_t k = 0; k < c * h * w; k++) data[k] = (uint8_t)(k * 37 % 251 + (k / w) * i);
  return iso_tensor_copy_from(ctx, ISO_U8, 3, ISO_DIMS(c, h, w), data);
}
static void make_set(iso_context *ctx, char folder[256]) {
  char path[400];
  make_folder(folder);
  static const char *const classes[] = {"ant", "bee", "cat"};
  for (int c = 0; c < N_CLASSES; c++) {
    snprintf(path, sizeof path, "%s/%s", folder, classes[c]);
    assert_int_equal(mkdir(path, 0700), 0);
  }
  for (int i = 0; i < N_NAMES; i++) {
    snprintf(path, sizeof path, "%s/%s", folder, names[i]);
    iso_tensor *t = picture(ctx, i);
    const bool jpeg = strstr(names[i], ".jp") != NULL;
    assert_int_equal(jpeg ? iso_jpeg_write(ctx, path, t, 90) : iso_png_write(ctx, path, t), ISO_OK);
    iso_release(t);
  }
}
static void remove_set(const char *folder) {
  char path[400];
  for (int i = 0; i < N_NAMES; i++) {
    snprintf(path, sizeof path, "%s/%s", folder, names[i]);
    unlink(path);
    *strrchr(path, '/') = 0;
    rmdir(path);
  }
  assert_int_equal(rmdir(folder), 0);
}

static const iso_image_transform busy = {
    .random_resized_crop = true, .brightness = 0.4, .contrast = 0.4, .saturation = 0.4, .hue = 0.1};
static const int sides[] = {16, 24, 40};
static const iso_loader_options full = {
    .batch_size = 4, .shuffle = true, .flip = true, .seed = 5, .transform = &busy, .n_sizes = 3, .sides = sides};

static iso__hash hash_run(iso_context *ctx, iso_dataset *set, iso_loader_options options, int first, int n) {
  iso_loader *loader = iso_loader_new(ctx, set, &options);
  expect_ok(ctx);
  const int64_t per_epoch = iso_loader_n_batches(loader);
  assert_int_equal(iso_loader_seek(loader, (uint32_t)(first / per_epoch), first % per_epoch), ISO_OK);
  iso__hasher *hasher = iso__hasher_new();
  for (int i = 0; i < n; i++) {
    iso_batch batch;
    iso_scope_push(ctx);
    if (!iso_loader_next(loader, &batch)) fail_msg("batch %d: %s", i, iso_error_message(ctx));
    iso__hasher_add(hasher, iso_tensor_shape(batch.x), 4 * sizeof(int64_t));
    iso__hasher_add(hasher, iso_tensor_data(batch.x), (size_t)iso_tensor_numel(batch.x) * 4);
    iso__hasher_add(hasher, iso_tensor_data(batch.y), (size_t)iso_tensor_numel(batch.y) * 8);
    iso_scope_pop(ctx);
  }
  iso_loader_free(loader);
  return iso__hasher_end(hasher);
}
static bool same(iso__hash a, iso__hash b) { return a.low == b.low && a.high == b.high; }

static void test_folder(void **state) {
  (void)state;
  iso_context *ctx = new_context();
  char folder[256], path[400];
  make_set(ctx, folder);
  const size_t live = iso_memory_get_info(ctx).live_bytes;
  iso_dataset *set = iso_dataset_open_images(ctx, &(iso_image_folder_options){.folder = folder, .height = 32});
  expect_ok(ctx);
  const iso_dataset_info info = iso_dataset_get_info(set);
  assert_int_equal(info.n_samples, N_IMAGES);
  assert_int_equal(info.n_classes, N_CLASSES);
  assert_string_equal(iso_dataset_class_name(set, 0), "ant");
  assert_string_equal(iso_dataset_class_name(set, 2), "cat");
  assert_null(iso_dataset_class_name(set, 3));
  static const char *const order[] = {"ant/x.jpg", "ant/y.png", "bee/10.png", "bee/2.PNG", "cat/a.jpeg", "cat/b.png"};
  for (int i = 0; i < N_IMAGES; i++) {
    assert_string_equal(set->files.text + set->files.paths[i] + strlen(folder) + 1, order[i]);
    assert_int_equal(set->labels[i], i / 2);
  }
  /* Workers, prefetch, seeks: the same bits. Another seed: others. */
  const iso__hash alone = hash_run(ctx, set, full, 0, 9), late = hash_run(ctx, set, full, 5, 4);
  iso_loader_options o = full;
  for (o.n_workers = 1; o.n_workers <= 4; o.n_workers++) {
    assert_true(same(alone, hash_run(ctx, set, o, 0, 9)));
    assert_true(same(late, hash_run(ctx, set, o, 5, 4)));
  }
  o.seed++;
  assert_false(same(alone, hash_run(ctx, set, o, 0, 9)));
  /* A changed sample changes the hash; names count too. */
  iso_dataset *again = iso_dataset_open_images(ctx, &(iso_image_folder_options){.folder = folder, .height = 32});
  assert_string_equal(iso_dataset_get_info(again).hash, info.hash);
  iso_dataset_free(again);
  snprintf(path, sizeof path, "%s/cat/b.png", folder);
  iso_tensor *t = picture(ctx, 4);
  ((uint8_t *)iso_tensor_data(t))[9] ^= 1;
  assert_int_equal(iso_png_write(ctx, path, t), ISO_OK);
  iso_release(t);
  again = iso_dataset_open_images(ctx, &(iso_image_folder_options){.folder = folder, .height = 32});
  assert_string_not_equal(iso_dataset_get_info(again).hash, info.hash);
  iso_dataset_free(again);
  /* Damage after opening comes out of the loader, with the path; before it, out of opening. */
  assert_int_equal(truncate(path, 60), 0);
  for (int workers = 0; workers < 2; workers++) {
    iso_loader *loader = iso_loader_new(ctx, set, &(iso_loader_options){.batch_size = 6, .n_workers = workers});
    iso_batch batch;
    assert_false(iso_loader_next(loader, &batch));
    expect_error(ctx, ISO_CORRUPT, "cat/b.png: PNG");
    iso_loader_free(loader);
  }
  iso_dataset_free(set);
  assert_null(iso_dataset_open_images(ctx, &(iso_image_folder_options){.folder = folder}));
  expect_error(ctx, ISO_CORRUPT, "cat/b.png: PNG");
  assert_int_equal(iso_memory_get_info(ctx).live_bytes, live);
  remove_set(folder);
  assert_null(iso_dataset_open_images(ctx, &(iso_image_folder_options){.folder = folder}));
  expect_error(ctx, ISO_NOT_FOUND, "cannot open the folder");
  iso__context_free(ctx);
}

static void test_failing_allocations(void **state) {
  (void)state;
  iso_context *ctx = new_context();
  char folder[256];
  make_set(ctx, folder);
  const size_t live = iso_memory_get_info(ctx).live_bytes;
  for (uint64_t n = 1;; n++) {
    iso_batch batch;
    iso_scope_push(ctx);
    iso_memory_fail_at(ctx, n);
    iso_dataset *set = iso_dataset_open_images(ctx, &(iso_image_folder_options){.folder = folder, .height = 16});
    iso_loader *loader = set ? iso_loader_new(ctx, set, &full) : NULL;
    const bool ok = loader && iso_loader_next(loader, &batch);
    iso_memory_fail_at(ctx, 0);
    assert_int_equal(iso_error_code(ctx), ok ? ISO_OK : ISO_OUT_OF_MEMORY);
    iso_clear_error(ctx);
    iso_loader_free(loader);
    iso_dataset_free(set);
    iso_scope_pop(ctx);
    assert_int_equal(iso_memory_get_info(ctx).live_bytes, live);
    if (ok) break;
  }
  remove_set(folder);
  iso__context_free(ctx);
}

/* The triangle filter by its definition, in f64, to the rounding of two passes. */
static double triangle_sum(const uint8_t *from, int n, int step, int n_to, int i) {
  const double scale = (double)n / n_to, width = scale > 1 ? scale : 1, centre = (i + 0.5) * scale;
  double sum = 0, weights = 0;
  for (int k = 0; k < n; k++) {
    const double w = 1 - fabs((k + 0.5 - centre) / width);
    if (w > 0) sum += w * from[k * step], weights += w;
  }
  return sum / weights;
}
static void test_resize(void **state) {
  (void)state;
  iso_context *ctx = new_context();
  enum { W = 31, H = 22 };
  uint8_t pixels[H * W], out[64 * 64], window[64 * 64];
  for (int i = 0; i < H * W; i++) pixels[i] = (uint8_t)(i * 97 % 256);
  static const int sizes[][2] = {{31, 22}, {16, 11}, {7, 40}, {60, 5}, {1, 1}, {64, 64}};
  for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
    const int w = sizes[s][0], h = sizes[s][1];
    iso__resizing r = {.pixels = pixels,
                       .width = W,
                       .channels = 1,
                       .from = {0, 0, W, H},
                       .to_width = w,
                       .to_height = h,
                       .window = {0, 0, w, h}};
    assert_true(iso__resize(ctx->heap, &r, out));
    for (int x = 0; x < w; x++) {
      uint8_t column[H];
      for (int y = 0; y < H; y++) column[y] = (uint8_t)(triangle_sum(pixels + y * W, W, 1, w, x) + 0.5);
      for (int y = 0; y < h; y++) assert_true(fabs(out[y * w + x] - triangle_sum(column, H, 1, h, y)) < 1.51);
    }
    if (s == 0) assert_memory_equal(out, pixels, sizeof pixels); /* the same size: the same pixels */
    /* A window is a part of the whole. */
    r.window = (iso__rect){w / 3, h / 3, w - w / 3, h - h / 3};
    assert_true(iso__resize(ctx->heap, &r, window));
    for (int y = 0; y < r.window.height; y++)
      assert_memory_equal(window + y * r.window.width, out + (y + h / 3) * w + w / 3, (size_t)r.window.width);
  }
  iso__context_free(ctx);
}

static void test_random_crops(void **state) {
  (void)state;
  const iso__rendering r = {.seed = 3,
                            .transform = {.scale_low = 0.2, .scale_high = 0.9, .ratio_low = 0.5, .ratio_high = 2}};
  double area = 0, x = 0;
  int n_whole = 0;
  for (uint32_t i = 0; i < 4000; i++) {
    const iso__rect c = iso__random_crop(&r, 200, 100, 1, i);
    assert_true(c.x >= 0 && c.y >= 0 && c.x + c.width <= 200 && c.y + c.height <= 100);
    const double part = c.width * c.height / 20000.0, ratio = (double)c.width / c.height;
    const bool whole = c.width == 200 && c.height == 100; /* ten attempts did not fit */
    n_whole += whole;
    assert_true(whole || (part > 0.19 && part < 0.91 && ratio > 0.48 && ratio < 2.05));
    area += part, x += c.x + c.width / 2.0;
  }
  assert_true(area / 4000 > 0.4 && area / 4000 < 0.6); /* large and square parts do not fit and are drawn again */
  assert_true(fabs(x / 4000 - 100) < 2);
  assert_in_range(n_whole, 0, 20);
  const iso__rect fallback = iso__random_crop(&r, 1000, 1, 0, 0); /* nothing fits: the middle */
  assert_true(fallback.width == 2 && fallback.height == 1 && fallback.x == 499);
}

/* Exact values of each step. */
static void test_jitter(void **state) {
  (void)state;
  enum { ONE = 65536 };
  uint8_t p[6] = {200, 100, 50, 0, 0, 0};
  iso__jitter_apply(&(iso__jitter){2 * ONE, ONE, ONE, 0}, p, 2, 3);
  assert_memory_equal(p, ((uint8_t[]){255, 200, 100, 0, 0, 0}), 6);
  uint8_t q[2] = {100, 200}; /* mean 150 */
  iso__jitter_apply(&(iso__jitter){ONE, ONE / 2, 0, 0}, q, 2, 1);
  assert_memory_equal(q, ((uint8_t[]){125, 175}), 2);
  uint8_t s[3] = {255, 0, 0}; /* luma 76 */
  iso__jitter_apply(&(iso__jitter){ONE, ONE, 0, 0}, s, 1, 3);
  assert_memory_equal(s, ((uint8_t[]){76, 76, 76}), 3);
  /* A third of the circle turns the primaries; six sixths are the identity; gray has no hue. */
  uint8_t h[9] = {255, 10, 10, 40, 90, 200, 7, 7, 7};
  iso__jitter_apply(&(iso__jitter){ONE, ONE, ONE, 2 * ONE}, h, 3, 3);
  assert_memory_equal(h, ((uint8_t[]){10, 255, 10, 200, 40, 90, 7, 7, 7}), 9);
  for (int i = 0; i < 6; i++) iso__jitter_apply(&(iso__jitter){ONE, ONE, ONE, -ONE}, h, 3, 3);
  assert_memory_equal(h, ((uint8_t[]){10, 255, 10, 200, 40, 90, 7, 7, 7}), 9);
  const iso__rendering r = {.seed = 1,
                            .transform = {.brightness = ONE / 2, .contrast = 2 * ONE, .saturation = 0, .hue = ONE / 4}};
  int32_t low = 9 * ONE, high = 0;
  for (uint32_t i = 0; i < 1000; i++) {
    const iso__jitter j = iso__jitter_of(&r, 0, i);
    assert_true(j.brightness >= ONE / 2 && j.brightness <= 3 * ONE / 2 && j.contrast >= 0 && j.contrast <= 3 * ONE);
    assert_true(j.saturation == ONE && abs(j.hue) <= ONE / 4);
    low = j.brightness < low ? j.brightness : low, high = j.brightness > high ? j.brightness : high;
  }
  assert_true(low < ONE / 2 + 300 && high > 3 * ONE / 2 - 300);
}

/* A set in memory goes through the same transforms; batches take their sides from the list. */
static void test_sets_in_memory(void **state) {
  (void)state;
  iso_context *ctx = new_context();
  iso_dataset *set = iso_dataset_synthetic(ctx, &(iso_synthetic_options){.n_samples = 40, .height = 20, .width = 30});
  iso_loader *loader = iso_loader_new(ctx, set, &full);
  int count[64] = {0};
  for (int i = 0; i < 60; i++) {
    iso_batch batch;
    iso_scope_push(ctx);
    assert_true(iso_loader_next(loader, &batch));
    const int64_t *shape = iso_tensor_shape(batch.x);
    assert_true(shape[0] == 4 && shape[1] == 3 && shape[2] == shape[3]);
    count[shape[2]]++;
    iso_scope_pop(ctx);
  }
  for (int s = 0; s < 3; s++) assert_in_range(count[sides[s]], 8, 34);
  iso_loader_free(loader);
  iso_loader_options plain = {.batch_size = 7}, same_size = {.batch_size = 7, .transform = &(iso_image_transform){0}};
  assert_true(same(hash_run(ctx, set, plain, 0, 6), hash_run(ctx, set, same_size, 0, 6)));
  assert_null(iso_loader_new(ctx, set, &(iso_loader_options){.transform = &(iso_image_transform){.hue = 0.7}}));
  expect_error(ctx, ISO_INVALID_ARGUMENT, "hue is 0.7, expected 0 to 0.5");
  assert_null(iso_loader_new(ctx, set, &(iso_loader_options){.transform = &busy, .crop_padding = 2}));
  expect_error(ctx, ISO_INVALID_ARGUMENT, "crop_padding is 2, expected 0 where images are transformed");
  assert_null(iso_loader_new(ctx, set, &(iso_loader_options){.n_sizes = 1, .sides = (int[]){0}}));
  expect_error(ctx, ISO_INVALID_ARGUMENT, "a side is 0");
  assert_null(iso_loader_new(ctx, set, &(iso_loader_options){.transform = &(iso_image_transform){.resize = 29}}));
  expect_error(ctx, ISO_INVALID_ARGUMENT, "resize is 29, expected 30");
  iso_dataset_free(set);
  iso__context_free(ctx);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_folder), cmocka_unit_test(test_failing_allocations),
                                     cmocka_unit_test(test_resize), cmocka_unit_test(test_random_crops),
                                     cmocka_unit_test(test_jitter), cmocka_unit_test(test_sets_in_memory)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
