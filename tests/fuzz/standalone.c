/* standalone.c: drives a fuzz target with any compiler: mutates its seeds with a fixed generator for a bounded time.
 *
 *   fuzz_npy              ISOBIT_FUZZ_SECONDS (5) or 300 000 inputs, whichever comes first
 *   fuzz_npy FILE...      these inputs only: how a crash is repeated
 *
 * The target runs in a child; the input it is at lies in memory that the parent shares, so that a crash, a sanitizer's
 * exit or a hang leaves the input in a file. */
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "fuzz/fuzz.h"

enum { INPUT_BYTES = 2 * FUZZ_SEED_BYTES, MAX_SEEDS = 32, MAX_RUNS = 300000, HANG_SECONDS = 20 };

typedef struct shared_input {
  size_t n, n_runs;
  uint8_t bytes[INPUT_BYTES];
} shared_input;

static uint64_t state = UINT64_C(0x150b17); /* splitmix64 */
static uint64_t draw(void) {
  uint64_t z = state += UINT64_C(0x9e3779b97f4a7c15);
  z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
  z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
  return z ^ z >> 31;
}
static size_t below(size_t n) { return n ? (size_t)(draw() % n) : 0; }

/* ---- mutations: each changes bytes[0 … n−1] and returns the new n ---- */

static size_t flip_bit(uint8_t *bytes, size_t n) {
  if (n) bytes[below(n)] ^= (uint8_t)(1 << below(8));
  return n;
}
static size_t set_byte(uint8_t *bytes, size_t n) {
  if (n) bytes[below(n)] = (uint8_t)draw();
  return n;
}
static size_t cut(uint8_t *bytes, size_t n) {
  (void)bytes;
  return below(n + 1);
}
static size_t remove_block(uint8_t *bytes, size_t n) {
  const size_t at = below(n), n_block = below(n - at < 32 ? n - at : 32);
  memmove(bytes + at, bytes + at + n_block, n - at - n_block);
  return n - n_block;
}
static size_t repeat_block(uint8_t *bytes, size_t n) {
  const size_t at = below(n), n_block = below(n - at < 64 ? n - at : 64);
  if (n + n_block > INPUT_BYTES) return n;
  memmove(bytes + at + n_block, bytes + at, n - at);
  return n + n_block;
}
/* 1, 2, 4 or 8 bytes at an edge, in either order */
static size_t set_edge(uint8_t *bytes, size_t n) {
  static const uint64_t edges[] = {0,      1,          0x7f,       0x80,      0xff,      0x7fff,
                                   0xffff, 0x7fffffff, 0xffffffff, INT64_MAX, UINT64_MAX};
  const size_t width = (size_t)1 << below(4);
  if (n < width) return n;
  uint8_t *p = bytes + below(n - width + 1);
  const uint64_t value = edges[below(sizeof edges / sizeof *edges)] + below(3) - 1;
  const bool big = draw() & 1;
  for (size_t i = 0; i < width; i++) p[big ? width - 1 - i : i] = (uint8_t)(value >> 8 * i);
  return n;
}
/* another number where the text has one */
static size_t set_number(uint8_t *bytes, size_t n) {
  static const char *const numbers[] = {
      "0", "1", "-1", "2", "255", "4294967296", "9223372036854775807", "18446744073709551616", "1e9", "3.0"};
  size_t begin = below(n), end;
  while (begin < n && (bytes[begin] < '0' || bytes[begin] > '9')) begin++;
  for (end = begin; end < n && bytes[end] >= '0' && bytes[end] <= '9';) end++;
  const char *number = numbers[below(sizeof numbers / sizeof *numbers)];
  const size_t n_number = strlen(number);
  if (begin == end || n + n_number > INPUT_BYTES) return n;
  memmove(bytes + begin + n_number, bytes + end, n - end);
  memcpy(bytes + begin, number, n_number);
  return n - (end - begin) + n_number;
}
static size_t insert_token(uint8_t *bytes, size_t n) {
  static const char tokens[] = "{}[](),:'\"\\ \n\tLx\x00\xff";
  const size_t at = below(n + 1);
  if (n == INPUT_BYTES) return n;
  memmove(bytes + at + 1, bytes + at, n - at);
  bytes[at] = (uint8_t)tokens[below(sizeof tokens - 1)];
  return n + 1;
}

static size_t mutate(uint8_t *bytes, size_t n) {
  static size_t (*const mutations[])(uint8_t * bytes, size_t n) = {flip_bit,     set_byte, cut,        remove_block,
                                                                   repeat_block, set_edge, set_number, insert_token};
  for (size_t i = 1 + below(4); i > 0; i--) n = mutations[below(sizeof mutations / sizeof *mutations)](bytes, n);
  return n;
}

/* ---- runs ---- */

/* A copy that ends where its allocation ends: a sanitizer sees a read beyond it. */
static void run_target(const uint8_t *bytes, size_t n) {
  uint8_t *exact = malloc(n ? n : 1);
  FUZZ_CHECK(exact != NULL);
  memcpy(exact, bytes, n);
  LLVMFuzzerTestOneInput(exact, n);
  free(exact);
}

static double seconds_now(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void fuzz(shared_input *input, double seconds) {
  static uint8_t seeds[MAX_SEEDS][FUZZ_SEED_BYTES];
  size_t n_seed[MAX_SEEDS], n_seeds = 0;
  while (n_seeds < MAX_SEEDS && (n_seed[n_seeds] = fuzz_seed(n_seeds, seeds[n_seeds])) > 0) n_seeds++;
  FUZZ_CHECK(n_seeds > 0);
  const double end = seconds_now() + seconds;
  for (size_t run = 0; run < MAX_RUNS && seconds_now() < end; run++) {
    const size_t s = run < n_seeds ? run : below(n_seeds);
    memcpy(input->bytes, seeds[s], n_seed[s]);
    input->n = run < n_seeds ? n_seed[s] : mutate(input->bytes, n_seed[s]);
    input->n_runs = run + 1;
    alarm(HANG_SECONDS);
    run_target(input->bytes, input->n);
  }
  alarm(0);
}

static int run_file(const char *path) {
  static uint8_t bytes[1 << 20];
  FILE *file = fopen(path, "rb");
  if (!file) return perror(path), 1;
  const size_t n = fread(bytes, 1, sizeof bytes, file);
  fclose(file);
  run_target(bytes, n);
  return 0;
}

static int report_crash(const char *program, const shared_input *input, int status) {
  const char *slash = strrchr(program, '/');
  char path[256];
  snprintf(path, sizeof path, "/tmp/%s.crash", slash ? slash + 1 : program);
  FILE *file = fopen(path, "wb");
  const bool kept = file && fwrite(input->bytes, 1, input->n, file) == input->n;
  if (file) fclose(file);
  fprintf(stderr, "input %zu of %zu bytes: %s %d; %s %s\n", input->n_runs, input->n,
          WIFSIGNALED(status) ? "signal" : "exit", WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status),
          kept ? "it is in" : "it could not be written to", path);
  return 1;
}

int main(int argc, char **argv) {
  for (int i = 1; i < argc; i++)
    if (run_file(argv[i])) return 1;
  if (argc > 1) return 0;
  const char *text = getenv("ISOBIT_FUZZ_SECONDS");
  shared_input *input = mmap(NULL, sizeof *input, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  FUZZ_CHECK(input != MAP_FAILED);
  const pid_t child = fork();
  if (child == 0) {
    fuzz(input, text ? atof(text) : 5.0);
    exit(0);
  }
  int status = -1;
  if (child < 0 || waitpid(child, &status, 0) != child) return perror("fuzz"), 1;
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) return report_crash(argv[0], input, status);
  printf("%zu inputs\n", input->n_runs);
  return 0;
}
