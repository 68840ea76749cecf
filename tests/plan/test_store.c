/* test_store.c: measured choices on disk: the second process times nothing; upgrades, load, hostile files, folders that
 * can't be written, full disks, processes killed at any moment. */
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <time.h>
#include "plan/state.h"
#include "plan_test.h"

static const char *const problems[] = {
    "gemm f32 m96 n96 k96", "gemm f32 m64 n128 k80", "conv2d.fwd f32 n2 c16 h16 w16 k16 r3 s3 p1",
    "conv2d.bwd_weights f32 n2 c16 h16 w16 k16 r3 s3 p1", "softmax.fwd f32 rows300 n40"};
enum { N_PROBLEMS = sizeof problems / sizeof problems[0] };

typedef struct job {
  const char *folder, *shared, *preset;
  bool full_disk;
  iso_tuner_stats stats;
  char engine[N_PROBLEMS][64];
  int n_warnings;
} job;

/* In a process of its own, since plans live as long as their process. Results go through shared memory of a file. */
static int run_job(void *user) {
  job *j = user;
  heard warnings = {0};
  if (j->full_disk) {
    signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &(struct rlimit){.rlim_cur = 0, .rlim_max = 0});
  }
  iso_context *ctx = plan_context(j->preset ? j->preset : "default", 1, j->folder, j->shared);
  iso_set_warning_handler(ctx, hear, &warnings);
  for (int i = 0; i < N_PROBLEMS; i++)
    snprintf(j->engine[i], sizeof j->engine[i], "%s", plan_of(ctx, problems[i]).engine->name);
  j->stats = iso_tuner_get_stats(ctx);
  j->n_warnings = warnings.n;
  if (warnings.n) printf("warned: %s\n", warnings.last);
  iso_context_free(ctx);
  return 0;
}

typedef struct piped {
  job *j;
  int fd;
} piped;
static int run_piped(void *user) {
  piped *p = user;
  const int status = run_job(p->j);
  return write(p->fd, p->j, sizeof *p->j) == (ssize_t)sizeof *p->j ? status : 9;
}
static job run_apart(job j) {
  int ends[2];
  assert_int_equal(pipe(ends), 0);
  assert_int_equal(in_child(run_piped, &(piped){&j, ends[1]}), 0);
  assert_int_equal(read(ends[0], &j, sizeof j), sizeof j);
  close(ends[0]), close(ends[1]);
  return j;
}

static size_t n_valid, n_files;
static void judge_file(const char *path) {
  char bytes[ISO__RECORD_BYTES];
  const size_t n = read_file(path, bytes, sizeof bytes);
  n_files++;
  n_valid += iso__record_is_whole(bytes, n);
}
static void count_records(const char *folder) {
  n_valid = n_files = 0;
  for_files(folder, ".plan", judge_file);
}

static void test_a_second_process_times_nothing(void **state) {
  (void)state;
  char folder[64];
  make_folder(folder);
  const job first = run_apart((job){.folder = folder}), second = run_apart((job){.folder = folder});
  assert_int_equal(first.stats.n_timed, N_PROBLEMS);
  assert_true(first.stats.spent_ms > 0 && first.stats.n_samples > N_PROBLEMS);
  assert_int_equal(second.stats.n_timed, 0);
  assert_int_equal(second.stats.n_from_store, N_PROBLEMS);
  assert_memory_equal(first.engine, second.engine, sizeof first.engine);
  /* `rule` believes what was measured too, and measures nothing itself. */
  const job ruled = run_apart((job){.folder = folder, .preset = "reproducible"});
  assert_int_equal(ruled.stats.n_from_store, N_PROBLEMS);
  assert_int_equal(ruled.stats.n_timed, 0);
  count_records(folder);
  assert_int_equal(n_valid, N_PROBLEMS);
  assert_int_equal(n_files, N_PROBLEMS);
  iso_context *ctx = plan_context("default", 1, folder, NULL);
  iso_store_info info;
  assert_int_equal(iso_store_get_info(ctx, &info), ISO_OK);
  assert_string_equal(info.own.path, folder);
  assert_true(info.own.exists && info.own.writable && info.own.n_records == N_PROBLEMS && !info.own.n_bad);
  assert_true(info.own.n_bytes > 100 * N_PROBLEMS && !info.shared.path[0]);
  iso_context_free(ctx);
  remove_folder(folder);
}

static void test_a_shared_store_is_read_and_never_written(void **state) {
  (void)state;
  char shared[64], own[64];
  make_folder(shared), make_folder(own);
  run_apart((job){.folder = shared});
  const job second = run_apart((job){.folder = own, .shared = shared});
  assert_int_equal(second.stats.n_from_store, N_PROBLEMS);
  count_records(own);
  assert_int_equal(n_files, 0);
  /* One record less, and bad: it is made again in the folder of our own. */
  char victim[300] = "";
  DIR *entries = opendir(shared);
  for (const struct dirent *e; (e = readdir(entries));)
    if (e->d_name[0] != '.') snprintf(victim, sizeof victim, "%s/%.200s", shared, e->d_name);
  closedir(entries);
  write_file(victim, "isobit plan 1\n", 14);
  const job third = run_apart((job){.folder = own, .shared = shared});
  assert_int_equal(third.stats.n_timed, 1);
  count_records(own);
  assert_true(n_files == 1 && n_valid == 1);
  count_records(shared);
  assert_true(n_files == N_PROBLEMS && n_valid == N_PROBLEMS - 1);
  assert_int_equal(run_apart((job){.folder = own, .shared = shared}).stats.n_timed, 0);
  remove_folder(shared), remove_folder(own);
}

static void test_a_loaded_machine_keeps_nothing(void **state) {
  (void)state;
  char folder[64];
  make_folder(folder);
  iso_context *ctx = plan_context("default", 1, folder, NULL);
  iso__tuner_set_load(ctx, ISO__LOAD_HEAVY);
  iso_plan_use use;
  assert_int_equal(iso_plan_tune(ctx, "gemm f32 m97 n98 k99", &use), ISO_OK);
  assert_true(use.loaded && use.source == ISO_PLAN_FROM_TUNER && use.measured_ms > 0);
  iso_tuner_stats stats = iso_tuner_get_stats(ctx);
  assert_int_equal(stats.n_loaded, 1);
  assert_true(stats.n_samples > 0 && stats.n_samples == stats.n_samples_rejected);
  count_records(folder);
  assert_int_equal(n_files, 0);
  /* The plan holds for this process, until somebody asks for a measurement on a quiet machine. */
  assert_true(plan_of(ctx, "gemm f32 m97 n98 k99").loaded);
  iso__tuner_set_load(ctx, ISO__LOAD_NONE);
  assert_int_equal(iso_plan_tune(ctx, "gemm f32 m97 n98 k99", &use), ISO_OK);
  assert_false(use.loaded);
  count_records(folder);
  assert_int_equal(n_valid, 1);
  iso_context_free(ctx);
  remove_folder(folder);
}

/* The head of a record, were one engine of the given name another revision. */
static size_t head_of(iso_context *ctx, const char *text, const char *upgraded, char head[ISO__RECORD_BYTES], int *n) {
  _Alignas(16) unsigned char buffer[ISO__MAX_PROBLEM_BYTES];
  iso__candidate candidates[ISO__MAX_CANDIDATES];
  static iso__engine changed;
  int n_allowed;
  assert_int_equal(iso__problem_parse(ctx, text, buffer), ISO_OK);
  const int n_candidates = iso__candidates_judge(ctx, (iso__problem *)buffer, candidates, &n_allowed);
  for (int i = 0; i < n_candidates; i++)
    if (!strcmp(candidates[i].engine->name, upgraded)) {
      changed = *candidates[i].engine;
      changed.revision++;
      candidates[i].engine = &changed;
    }
  *n = n_allowed;
  return iso__record_head(ctx, (iso__problem *)buffer, candidates, n_candidates, head);
}

static void test_an_upgrade_tunes_again_only_what_it_changed(void **state) {
  (void)state;
  char folder[64], head[ISO__RECORD_BYTES];
  make_folder(folder);
  run_apart((job){.folder = folder});
  iso_context *ctx = plan_context("default", 1, folder, NULL);
  iso__store *store = &iso__plan_state_of(ctx)->job->store;
  for (int upgrade = 0; upgrade < 2; upgrade++)
    for (int i = 0; i < N_PROBLEMS; i++) {
      iso__record record;
      int n;
      const size_t n_head = head_of(ctx, problems[i], upgrade ? "cpu.scalar.gemm_reference" : "", head, &n);
      const bool found = iso__store_find(store, head, n_head, n, &record);
      assert_int_equal(found, !(upgrade && !strncmp(problems[i], "gemm", 4)));
    }
  iso_context_free(ctx);
  remove_folder(folder);
}

/* Work goes on without a place to keep anything, and says so once. */
static void test_folders_that_cannot_be_written(void **state) {
  (void)state;
  const char *const folders[] = {"/dev/null/isobit", "/proc/isobit/plans"};
  for (int i = 0; i < 2; i++) {
    const job j = run_apart((job){.folder = folders[i]});
    assert_int_equal(j.stats.n_timed, N_PROBLEMS);
    assert_int_equal(j.n_warnings, 1);
  }
  char folder[64];
  make_folder(folder);
  const job full = run_apart((job){.folder = folder, .full_disk = true});
  assert_int_equal(full.stats.n_timed, N_PROBLEMS);
  assert_int_equal(full.n_warnings, 1);
  assert_int_equal(for_files(folder, "", NULL), 0); /* nothing, not even half of something */
  if (geteuid() != 0) {
    assert_int_equal(chmod(folder, 0500), 0);
    const job closed = run_apart((job){.folder = folder});
    assert_true(closed.stats.n_timed == N_PROBLEMS && closed.n_warnings == 1);
    chmod(folder, 0700);
  }
  remove_folder(folder);
}

static int without_a_home(void *user) {
  (void)user;
  static const char *const names[] = {"HOME", "XDG_CACHE_HOME", "ISOBIT_STORE", "ISOBIT_STORE_SHARED"};
  for (int i = 0; i < 4; i++) unsetenv(names[i]);
  iso_store_info info;
  heard warnings = {0};
  iso_context *ctx = plan_context("default", 1, NULL, NULL);
  iso_set_warning_handler(ctx, hear, &warnings);
  for (int i = 0; i < N_PROBLEMS; i++) plan_of(ctx, problems[i]);
  const bool ok = iso_store_get_info(ctx, &info) == ISO_OK && !info.own.path[0] && !warnings.n;
  setenv("HOME", "/somewhere", 1);
  iso_store_open(ctx, NULL, NULL);
  iso_store_get_info(ctx, &info);
  const bool home = !strcmp(info.own.path, "/somewhere/.cache/isobit/plans") && !info.own.exists;
  setenv("XDG_CACHE_HOME", "/cache", 1);
  iso_store_open(ctx, NULL, NULL);
  iso_store_get_info(ctx, &info);
  const bool cache = !strcmp(info.own.path, "/cache/isobit/plans");
  setenv("ISOBIT_STORE", "/plans", 1);
  setenv("ISOBIT_STORE_SHARED", "/shared", 1);
  iso_store_open(ctx, NULL, NULL);
  iso_store_get_info(ctx, &info);
  const bool named = !strcmp(info.own.path, "/plans") && !strcmp(info.shared.path, "/shared");
  iso_context_free(ctx);
  return !(ok && home && cache && named);
}
static void test_where_the_store_is(void **state) {
  (void)state;
  assert_int_equal(in_child(without_a_home, NULL), 0);
}

/* ---- hostile content ---- */

static char record_path[512];
static void note_path(const char *path) { snprintf(record_path, sizeof record_path, "%s", path); }

/* Every byte changed, every length: never believed. */
static void test_damaged_records(void **state) {
  (void)state;
  char folder[64], head[ISO__RECORD_BYTES], good[ISO__RECORD_BYTES], bad[ISO__RECORD_BYTES];
  make_folder(folder);
  iso_context *ctx = plan_context("default", 1, folder, NULL);
  plan_of(ctx, "gemm f32 m101 n102 k103");
  assert_int_equal(for_files(folder, ".plan", note_path), 1);
  int n_engines;
  iso__record record;
  const size_t n_head = head_of(ctx, "gemm f32 m101 n102 k103", "", head, &n_engines);
  const size_t n = read_file(record_path, good, sizeof good);
  assert_true(iso__record_parse(good, n, head, n_head, n_engines, &record));
  for (size_t i = 0; i < n; i++) {
    memcpy(bad, good, n);
    bad[i] ^= (char)(1 << (i % 7));
    assert_false(iso__record_parse(bad, n, head, n_head, n_engines, &record));
    assert_false(iso__record_parse(good, i, head, n_head, n_engines, &record));
  }
  iso_context_free(ctx);
  remove_folder(folder);
}

/* Results with a right checksum that say nonsense. */
static void test_forged_records(void **state) {
  (void)state;
  const char *const results[] = {"chosen 1\nload 0 rejected 0 of 0\n",
                                 "time 1 spread 1 samples 1\nchosen 2\nload 0 rejected 0 of 0\n",
                                 "time 1 spread 1 samples 1\nchosen 0\nload 0 rejected 0 of 0\n",
                                 "time 1 spread 1 samples 0\nchosen 1\nload 0 rejected 0 of 0\n",
                                 "time -1 spread 1 samples 1\nchosen 1\nload 0 rejected 0 of 0\n",
                                 "time 99999999999999999999 spread 1 samples 1\nchosen 1\nload 0 rejected 0 of 0\n",
                                 "time nan spread 1 samples 1\nchosen 1\nload 0 rejected 0 of 0\n",
                                 "time 1 spread 1 samples 1\nchosen 1\nload 0 rejected 0 of 0\nmore\n",
                                 "time 1 spread 1 samples 1\nchosen 1\nload 0 rejected 0 of 99999999999\n",
                                 ""};
  char text[ISO__RECORD_BYTES], hex[33];
  iso__record record;
  for (size_t i = 0; i <= sizeof results / sizeof results[0]; i++) {
    const bool is_good = i == sizeof results / sizeof results[0];
    const char *result = is_good ? "time 1 spread 1 samples 1\nchosen 1\nload 0 rejected 0 of 0\n" : results[i];
    const size_t n = (size_t)snprintf(text, sizeof text, "head\n%s", result);
    iso__hash_format(iso__hash_bytes(text, n), hex);
    const size_t n_all = n + (size_t)snprintf(text + n, sizeof text - n, "check %s\n", hex);
    assert_true(iso__record_is_whole(text, n_all));
    assert_int_equal(iso__record_parse(text, n_all, "head\n", 5, 1, &record), is_good);
  }
}

/* What stands in a record's place: ignored without waiting, and replaced where a file can replace it. */
static void test_strange_files(void **state) {
  (void)state;
  char folder[64], *large = calloc(1, 1 << 20);
  make_folder(folder);
  run_apart((job){.folder = folder});
  assert_int_equal(for_files(folder, ".plan", note_path), N_PROBLEMS);
  for (int kind = 0; kind < 5; kind++) {
    unlink(record_path);
    if (kind == 0) assert_int_equal(mkfifo(record_path, 0600), 0);
    else if (kind == 1) write_file(record_path, large, 1 << 20);
    else if (kind == 2) write_file(record_path, "", 0);
    else if (kind == 3) assert_int_equal(symlink(record_path, record_path), 0);
    else assert_int_equal(symlink("/dev/zero", record_path), 0);
    const job again = run_apart((job){.folder = folder});
    assert_true(again.stats.n_timed == 1 && again.n_warnings == 0);
    count_records(folder);
    assert_int_equal(n_valid, N_PROBLEMS);
  }
  unlink(record_path);
  assert_int_equal(mkdir(record_path, 0700), 0); /* a folder can't be replaced by a file */
  const job blocked = run_apart((job){.folder = folder});
  assert_true(blocked.stats.n_timed == 1 && blocked.n_warnings == 1);
  free(large);
  remove_folder(folder);
}

/* ---- many processes, killed ---- */

enum { N_PROCESSES = 8 };

static uint64_t draw(uint64_t *x) { /* splitmix64 */
  uint64_t z = *x += 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

static void start_all(const char *folder, pid_t child[N_PROCESSES]) {
  fflush(NULL);
  for (int i = 0; i < N_PROCESSES; i++) {
    child[i] = fork();
    assert_true(child[i] >= 0);
    if (child[i] == 0) {
      job j = {.folder = folder};
      _exit(run_job(&j));
    }
  }
}

/* Whether the round's eight were started, killed one after the other and waited for: how many were killed. */
static int kill_all(const char *folder, uint64_t *seed) {
  pid_t child[N_PROCESSES];
  int n_killed = 0;
  start_all(folder, child);
  for (int i = 0; i < N_PROCESSES; i++) {
    nanosleep(&(struct timespec){.tv_nsec = (long)(draw(seed) % 1500000)}, NULL);
    kill(child[i], SIGKILL);
  }
  for (int i = 0; i < N_PROCESSES; i++) {
    int status;
    assert_int_equal(waitpid(child[i], &status, 0), child[i]);
    n_killed += WIFSIGNALED(status);
  }
  return n_killed;
}

/* Eight tune the same keys; each is killed at a moment of its own, again and again; then all may end. At any time every
 * record in the folder is whole, and at the end there is one for each key. */
static void test_killed_at_any_moment(void **state) {
  (void)state;
  const int n_wanted = is_long() ? 200 : 20;
  char folder[64];
  pid_t child[N_PROCESSES];
  uint64_t seed = 7;
  int n_killed = 0;
  make_folder(folder);
  for (int round = 0; n_killed < n_wanted && round < 10 * n_wanted; round++) {
    for_files(folder, ".plan", remove_file);
    n_killed += kill_all(folder, &seed);
    count_records(folder);
    assert_int_equal(n_valid, n_files);
  }
  assert_true(n_killed >= n_wanted);
  start_all(folder, child);
  for (int i = 0; i < N_PROCESSES; i++) {
    int status;
    assert_int_equal(waitpid(child[i], &status, 0), child[i]);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  }
  count_records(folder);
  assert_true(n_files == N_PROBLEMS && n_valid == N_PROBLEMS);
  printf("%d processes killed: %zu leftovers beside %zu whole records\n", n_killed, for_files(folder, ".tmp", NULL),
         n_valid);
  assert_int_equal(run_apart((job){.folder = folder}).stats.n_timed, 0);
  remove_folder(folder);
}

/* What a killed writer leaves is removed once it is old. */
static void test_leftovers_go(void **state) {
  (void)state;
  char folder[64], old[300], fresh[300], other[300];
  make_folder(folder);
  snprintf(old, sizeof old, "%s/0123456789abcdef0123456789abcdef.plan.1.2.tmp", folder);
  snprintf(fresh, sizeof fresh, "%s/0123456789abcdef0123456789abcdef.plan.3.4.tmp", folder);
  snprintf(other, sizeof other, "%s/somebody.tmp", folder);
  write_file(old, "x", 1), write_file(fresh, "x", 1), write_file(other, "x", 1);
  const struct timespec hour_ago[2] = {{.tv_sec = time(NULL) - 3600}, {.tv_sec = time(NULL) - 3600}};
  assert_int_equal(utimensat(AT_FDCWD, old, hour_ago, 0), 0);
  assert_int_equal(utimensat(AT_FDCWD, other, hour_ago, 0), 0);
  run_apart((job){.folder = folder});
  assert_int_equal(access(old, F_OK), -1);
  assert_int_equal(access(fresh, F_OK), 0);
  assert_int_equal(access(other, F_OK), 0);
  remove_folder(folder);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_a_second_process_times_nothing),
                                     cmocka_unit_test(test_a_shared_store_is_read_and_never_written),
                                     cmocka_unit_test(test_a_loaded_machine_keeps_nothing),
                                     cmocka_unit_test(test_an_upgrade_tunes_again_only_what_it_changed),
                                     cmocka_unit_test(test_folders_that_cannot_be_written),
                                     cmocka_unit_test(test_where_the_store_is),
                                     cmocka_unit_test(test_damaged_records),
                                     cmocka_unit_test(test_forged_records),
                                     cmocka_unit_test(test_strange_files),
                                     cmocka_unit_test(test_killed_at_any_moment),
                                     cmocka_unit_test(test_leftovers_go)};
  return cmocka_run_group_tests_name("store", tests, NULL, NULL);
}
