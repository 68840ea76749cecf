/* checkpoint_lock.c: a run's plans in its checkpoint. Under policies that promise the same bits for the same plans only
 * (below `invariant`), a resumed run must not choose anew: it goes on with what it had. From `invariant` up plans
 * change no bit, and another machine or thread count chooses its own. */
#include "plan/lock.h"
#include "plan/state.h"
#include "train/trainer.h"

iso_tensor *iso__checkpoint_lock(iso_trainer *t) {
  size_t n, n_block;
  if (iso__plan_state_of(t->ctx)->is_incomplete) return NULL;
  char *text = iso__lock_print(t->ctx, &n, &n_block);
  if (!text) return NULL;
  const iso__device *device = iso__host_enter(t->ctx);
  iso_tensor *bytes = iso_keep(iso_tensor_copy_from(t->ctx, ISO_U8, 1, ISO_DIMS((int64_t)n), text));
  iso__host_leave(t->ctx, device);
  iso__free(t->ctx, text, n_block);
  return bytes;
}

iso_status iso__checkpoint_use_lock(iso_trainer *t, const iso_tensor *bytes, const char *path) {
  if (!bytes || iso__plan_state_of(t->ctx)->lock || iso_policy_current(t->ctx)->repro >= ISO_REPRO_INVARIANT)
    return ISO_OK;
  if (iso_tensor_dtype(bytes) != ISO_U8 || iso_tensor_n_dims(bytes) != 1)
    return ISO__FAIL(t->ctx, ISO_CORRUPT, "checkpoint", "%s: tensor 'lock' is no row of bytes", path);
  iso__lock *lock = iso__lock_parse(t->ctx, path, iso_tensor_data(bytes), (size_t)iso_tensor_shape(bytes)[0]);
  if (!lock) return t->ctx->error.code;
  iso__lock_use(t->ctx, lock);
  return ISO_OK;
}
