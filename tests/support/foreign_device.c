/* foreign_device.c: pages without rights, opened for the device's own calls alone. */
#include "support/foreign_device.h"
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include "numeric/dtype.h"

enum { PAGE = 4096, MAX_BLOCKS = 4096 };
static struct {
  char *begin;
  size_t n_bytes;
} blocks[MAX_BLOCKS];

static size_t pages(size_t n_bytes) { return (n_bytes / PAGE + 1) * PAGE; }

/* Of the block around a pointer, if it is one of ours. */
static void set_rights(const void *data, int rights) {
  const char *at = data;
  for (int i = 0; i < MAX_BLOCKS; i++)
    if (blocks[i].begin && at >= blocks[i].begin && at < blocks[i].begin + blocks[i].n_bytes)
      mprotect(blocks[i].begin, blocks[i].n_bytes, rights);
}
static void open_both(const void *a, const void *b) {
  set_rights(a, PROT_READ | PROT_WRITE), set_rights(b, PROT_READ | PROT_WRITE);
}
static void close_both(const void *a, const void *b) { set_rights(a, PROT_NONE), set_rights(b, PROT_NONE); }

/* Copies beside the other work come as late as they may: when somebody waits for their event, or when the device works
 * after it was told to follow it. */
enum { MAX_LATE = 256 };
static struct late {
  const iso__event *event;
  void *dst;
  const void *src;
  size_t n_bytes;
  bool is_due;
} late[MAX_LATE];
static int n_late;

static void arrive(const struct late *l) {
  open_both(l->dst, l->src);
  if (l->n_bytes) memmove(l->dst, l->src, l->n_bytes);
  close_both(l->dst, l->src);
}
/* Those that are due, or that the event ends. */
static void let_arrive(const iso__event *event) {
  int n = 0;
  for (int i = 0; i < n_late; i++) {
    if (late[i].is_due || late[i].event == event) arrive(&late[i]);
    else late[n++] = late[i];
  }
  n_late = n;
}

size_t foreign_device_limit;
static size_t in_use(void) {
  size_t n = 0;
  for (int i = 0; i < MAX_BLOCKS; i++)
    if (blocks[i].begin) n += blocks[i].n_bytes;
  return n;
}

static void *alloc(const iso__device *device, iso__heap *heap, size_t n_bytes, iso_status *status) {
  (void)device, (void)heap;
  if (status) *status = ISO_OUT_OF_MEMORY;
  if (foreign_device_limit && in_use() + pages(n_bytes) > foreign_device_limit) return NULL;
  for (int i = 0; i < MAX_BLOCKS && n_bytes < (size_t)1 << 30; i++) {
    if (blocks[i].begin) continue;
    char *block = mmap(NULL, pages(n_bytes), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (block == MAP_FAILED) return NULL;
    if (status) *status = ISO_OK;
    blocks[i].begin = block, blocks[i].n_bytes = pages(n_bytes);
    return block;
  }
  return NULL;
}

static void release(const iso__device *device, iso__heap *heap, void *block, size_t n_bytes) {
  (void)device, (void)heap, (void)n_bytes;
  let_arrive(NULL);
  for (int i = 0; i < MAX_BLOCKS && block; i++) {
    if (blocks[i].begin != block) continue;
    munmap(block, blocks[i].n_bytes), blocks[i].begin = NULL;
    return;
  }
  free(block); /* pinned */
}

static iso_status copy(const iso__device *device, void *dst, const void *src, size_t n_bytes) {
  (void)device;
  let_arrive(NULL);
  open_both(dst, src);
  if (n_bytes) memmove(dst, src, n_bytes);
  return close_both(dst, src), ISO_OK;
}

static iso_status zero(const iso__device *device, void *dst, size_t n_bytes) {
  (void)device;
  let_arrive(NULL);
  open_both(dst, dst);
  if (n_bytes) memset(dst, 0, n_bytes);
  return close_both(dst, dst), ISO_OK;
}

static iso_status copy_strided(const iso__device *device, void *dst, const void *src, const iso__strided *f) {
  (void)device;
  const int64_t dst_bytes = (int64_t)iso_dtype_size(f->dst_dtype), src_bytes = (int64_t)iso_dtype_size(f->src_dtype);
  int64_t n = 1;
  for (int d = 0; d < f->n_dims; d++) n *= f->shape[d];
  open_both(dst, src);
  for (int64_t i = 0; i < n; i++) {
    int64_t rest = i, to = 0, from = 0;
    for (int d = f->n_dims - 1; d >= 0; rest /= f->shape[d--])
      to += rest % f->shape[d] * f->dst_strides[d], from += rest % f->shape[d] * f->src_strides[d];
    iso__cast_element((const char *)src + from * src_bytes, f->src_dtype, (char *)dst + to * dst_bytes, f->dst_dtype);
  }
  return close_both(dst, src), ISO_OK;
}

static iso_status fill(const iso__device *device, void *dst, const void *element, size_t item_bytes, int64_t n) {
  (void)device;
  let_arrive(NULL);
  open_both(dst, dst);
  for (int64_t i = 0; i < n; i++) memcpy((char *)dst + (size_t)i * item_bytes, element, item_bytes);
  return close_both(dst, dst), ISO_OK;
}

static iso_status synchronize(const iso__device *device) {
  (void)device;
  return ISO_OK;
}

static iso_status event_init(const iso__device *device, iso__event *event) {
  (void)device;
  return *event = (iso__event){0}, ISO_OK;
}
static void event_release(const iso__device *device, iso__event *event) { (void)device, (void)event; }

/* The host's own, too. */
static void *alloc_pinned(const iso__device *device, size_t n_bytes, iso_status *status) {
  (void)device;
  void *block = malloc(n_bytes + 1);
  if (status) *status = block ? ISO_OK : ISO_OUT_OF_MEMORY;
  return block;
}

static iso_status copy_beside(const iso__device *device, void *dst, const void *src, size_t n_bytes, iso__event *done) {
  (void)device;
  if (n_late == MAX_LATE) return ISO_OUT_OF_MEMORY;
  late[n_late++] = (struct late){done, dst, src, n_bytes, false};
  return ISO_OK;
}
static iso_status event_wait(const iso__device *device, const iso__event *event) {
  (void)device;
  return let_arrive(event), ISO_OK;
}
static iso_status event_follow(const iso__device *device, const iso__event *event) {
  (void)device;
  for (int i = 0; i < n_late; i++) late[i].is_due |= late[i].event == event;
  return ISO_OK;
}

const iso__device foreign_device = {.name = "foreign:0",
                                    .isa = (iso_isa)99,
                                    .model = "no chip",
                                    .alloc = alloc,
                                    .free = release,
                                    .copy = copy,
                                    .zero = zero,
                                    .copy_strided = copy_strided,
                                    .fill = fill,
                                    .synchronize = synchronize,
                                    .event_init = event_init,
                                    .event_release = event_release,
                                    .alloc_pinned = alloc_pinned,
                                    .copy_beside = copy_beside,
                                    .event_follow = event_follow,
                                    .event_wait = event_wait,
                                    .width = 1};
