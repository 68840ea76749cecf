/* stub_nvtx.c: what a profiler injects into NVTX: it takes the calls of domains and ranges and writes them down. */
#include <nvtx3/nvToolsExt.h>
#include <stdio.h>
#include <string.h>

char stub_log[4096];

static void note(const char *what, const char *text) {
  const size_t n = strlen(stub_log);
  snprintf(stub_log + n, sizeof stub_log - n, "%s(%s) ", what, text);
}
static nvtxDomainHandle_t create(const char *name) { return note("domain", name), (nvtxDomainHandle_t)stub_log; }
static int push(nvtxDomainHandle_t domain, const nvtxEventAttributes_t *e) {
  note(domain == (nvtxDomainHandle_t)stub_log ? "push" : "other", e->message.ascii);
  return 0;
}
static int pop(nvtxDomainHandle_t domain) {
  return note(domain == (nvtxDomainHandle_t)stub_log ? "pop" : "other", ""), 0;
}

int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get_table);
int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get_table) {
  const NvtxExportTableCallbacks *callbacks = get_table(NVTX_ETID_CALLBACKS);
  NvtxFunctionTable table = NULL;
  unsigned n = 0;
  if (!callbacks || !callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE2, &table, &n)) return 0;
  *table[NVTX_CBID_CORE2_DomainCreateA] = (NvtxFunctionPointer)create;
  *table[NVTX_CBID_CORE2_DomainRangePushEx] = (NvtxFunctionPointer)push;
  *table[NVTX_CBID_CORE2_DomainRangePop] = (NvtxFunctionPointer)pop;
  return 1;
}
