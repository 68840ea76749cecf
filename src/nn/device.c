/* device.c: modules on another device. */
#include "base/owner.h"
#include "nn/module.h"
#include "tensor/tensor.h"

static iso_status move(iso_tensor *t, const iso__device *device) {
  if (t->view.storage->device == device) return ISO_OK;
  const iso__owner before = iso__owner_enter(ISO__OWNER_WEIGHTS);
  iso_tensor *moved = iso__tensor_to(t->ctx, &t->view, device);
  iso__owner_leave(before);
  if (!moved) return t->ctx->error.code;
  const iso__view old = t->view;
  t->view = moved->view, moved->view = old; /* the handle, its history and its name stay */
  iso_release(moved);
  return iso_wants_grad(t) ? iso_grad_zero(t) : ISO_OK;
}

iso_status iso_module_to(iso_module *m, const char *name) {
  if (!m || iso__failed(m->ctx)) return m ? m->ctx->error.code : ISO_INVALID_ARGUMENT;
  const iso__device *device;
  char why[320];
  const iso_status found = iso__device_find(name, &device, why, sizeof why);
  if (found != ISO_OK) return ISO__FAIL(m->ctx, found, __func__, "%s", why);
  size_t n;
  const iso_named_tensor *tensors = iso_module_tensors(m, &n);
  for (size_t i = 0; i < n; i++) {
    const iso_status status = move(tensors[i].tensor, device);
    if (status != ISO_OK) return status;
  }
  return m->ctx->error.code;
}
