/* store.h: measured choices on disk.
 *
 * One small text file per key, written whole beside its name and renamed: no locks, so many processes, a kill at any
 * moment and network file systems are all safe. The last writer wins, and all of them are right. The file's name is the
 * hash of its head, which says everything that the choice may depend on: problem, processor, instruction set, threads,
 * and every engine that could have been chosen with its revision. An upgrade therefore measures again what it changed,
 * and nothing else; another machine's record has another name. What a record says is believed only if its checksum
 * holds and its head is the one asked for; then it can choose among allowed engines only, so that not even a hostile
 * one changes a result.
 *
 *   isobit plan 1
 *   problem gemm f32 m512 n512 k512
 *   cpu Intel(R) Xeon(R) Platinum 8481C
 *   isa avx512
 *   threads 2
 *   engine cpu.avx512.gemm_12x32@1 class ordered
 *   engine cpu.avx2.gemm_6x16@1 class ordered
 *   time 2031022 spread 20100 samples 5
 *   time 3920112 spread 15000 samples 3
 *   chosen 1
 *   load 132 rejected 0 of 8
 *   check 5d1c…
 */
#ifndef ISO_PLAN_STORE_H
#define ISO_PLAN_STORE_H
#include <pthread.h>
#include "base/hash.h"
#include "plan/plan.h"

enum { ISO__STORE_PATH_BYTES = 512, ISO__RECORD_BYTES = 12288 };

typedef struct iso__store {
  pthread_mutex_t mutex;                                             /* of what follows: children share it */
  char folder[ISO__STORE_PATH_BYTES], shared[ISO__STORE_PATH_BYTES]; /* "": none */
  bool is_prepared;    /* the folder was made, and what killed writers left is gone */
  bool gave_up;        /* writing failed, and that was said */
  _Atomic uint64_t id; /* of the pair of folders; 0: both are none */
} iso__store;

void iso__store_init(iso__store *store); /* with the environment's folders */
void iso__store_release(iso__store *store);

/* A record's results: of the engines in its head, in that order. */
typedef struct iso__record {
  int n_engines, chosen;
  iso__timing timing[ISO__MAX_CANDIDATES];
  int n_samples, n_rejected, load_percent;
} iso__record;

/* The head for a problem with these candidates; its length. */
size_t iso__record_head(const iso_context *ctx, const iso__problem *problem, const iso__candidate *candidates, int n,
                        char text[ISO__RECORD_BYTES]);
/* Appends results and checksum to a head of n bytes; the record's length. */
size_t iso__record_end(char text[ISO__RECORD_BYTES], size_t n, const iso__record *record);
/* Whether the bytes are a whole record, whatever its head. */
bool iso__record_is_whole(const char *bytes, size_t n);
/* Whether they are a whole record with this head and n_engines engines; then *record is its result. */
bool iso__record_parse(const char *bytes, size_t n, const char *head, size_t n_head, int n_engines,
                       iso__record *record);

/* Reads the record with this head; false: there is none that can be believed. */
bool iso__store_find(iso__store *store, const char *head, size_t n_head, int n_engines, iso__record *record);
/* Keeps a whole record whose head has n_head bytes. Failing is no error: it is said once. */
void iso__store_keep(iso_context *ctx, iso__store *store, const char *text, size_t n_bytes, size_t n_head);
#endif
