/* memory.c: what memory held when it held most: the process', the context's by owner, the device's. */
#include "cli.h"

long peak_memory_kib(void) {
  char line[256];
  long kib = 0;
  FILE *f = fopen("/proc/self/status", "r");
  while (f && fgets(line, sizeof line, f))
    if (sscanf(line, "VmHWM: %ld", &kib) == 1) break;
  if (f) fclose(f);
  return kib;
}

json_t *owners_json(const iso_memory_owners *o) {
  return json_pack("{s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I}", "weights", (json_int_t)o->weights, "gradients",
                   (json_int_t)o->gradients, "optimizer", (json_int_t)o->optimizer, "activations",
                   (json_int_t)o->activations, "workspace", (json_int_t)o->workspace, "captures",
                   (json_int_t)o->captures, "kept", (json_int_t)o->kept, "data", (json_int_t)o->data, "other",
                   (json_int_t)o->other);
}

void print_memory(const char *name, size_t peak, const iso_memory_owners *o) {
  char owners[256];
  iso_memory_owners_format(o, owners, sizeof owners);
  printf("%-16s %.0f MiB at most: %s\n", name, (double)peak / 0x1p20, owners);
}

void report_memory(const iso_context *ctx, const iso_memory_info *m, json_t *result) {
  json_t *memory = owners_json(&m->at_peak);
  json_object_set_new(memory, "peak", json_integer((json_int_t)m->peak_bytes));
  json_object_set_new(result, "memory", memory);
  print_memory("memory", m->peak_bytes, &m->at_peak);
  const iso_device_memory d = iso_device_get_memory(ctx);
  if (!d.total) return;
  json_t *device = owners_json(&d.at_peak);
  json_object_set_new(device, "peak", json_integer((json_int_t)d.peak));
  json_object_set_new(device, "reserved", json_integer((json_int_t)d.reserved));
  json_object_set_new(result, "device_memory", device);
  print_memory("device_memory", d.peak, &d.at_peak);
}
