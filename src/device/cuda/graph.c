/* graph.c: CUDA graphs: a thread's work between begin and end, with the memory that it uses.
 *
 * It is recorded on a stream of its own, so that other threads' work goes on, and launched in the order of all work.
 * Capture mode is relaxed: the allocator may ask the driver for memory while the graph is recorded, which is no work of
 * the stream. What the host would have to wait for cannot be recorded: it is refused, and the first refusal is the
 * reason that `end` gives. */
#include <stdio.h>
#include <stdlib.h>
#include "device/cuda/state.h"

struct iso__cuda_graph {
  const iso__cuda_device *device;
  iso__cuda_pool *pool;
  cudaGraphExec_t exec;
};

bool iso__cuda_captures(const iso__cuda_device *d) { return iso__cuda_pool_serves(d->pools); }

bool iso__cuda_refuses(const iso__cuda_device *d, const char *what) {
  iso__cuda_recording *r = d->recording;
  if (!iso__cuda_captures(d)) return false;
  if (!r->refusal[0]) snprintf(r->refusal, sizeof r->refusal, "%s", what);
  return true;
}

static void say(char *why, size_t n_bytes, const char *step, cudaError_t error) {
  snprintf(why, n_bytes, "%s: %s (%s)", step, cudaGetErrorString(error), cudaGetErrorName(error));
  (void)cudaGetLastError();
}

iso__cuda_graph *iso__cuda_graph_begin(const iso__device *device, char *why, size_t n_bytes) {
  const iso__cuda_device *d = iso__cuda_device_of(device);
  iso_status status = ISO_OUT_OF_MEMORY;
  iso__cuda_graph *g = calloc(1, sizeof *g);
  if (!g || !(g->pool = iso__cuda_pool_begin(d->pools, &status))) {
    snprintf(why, n_bytes, "%s: %s", device->name,
             status == ISO_STATE ? "another capture has begun" : "no host memory");
    return free(g), NULL;
  }
  g->device = d;
  *d->recording = (iso__cuda_recording){0};
  const cudaError_t error = cudaStreamBeginCapture(d->recorder, cudaStreamCaptureModeRelaxed);
  if (error == cudaSuccess) return g;
  say(why, n_bytes, "beginning the capture", error);
  iso__cuda_pool_end(d->pools);
  iso__cuda_graph_free(g);
  return NULL;
}

static bool instantiate(iso__cuda_graph *g, cudaGraph_t graph, char *why, size_t n_bytes) {
  const cudaError_t error = cudaGraphInstantiateWithFlags(&g->exec, graph, 0);
  if (error == cudaSuccess) return true;
  g->exec = NULL;
  return say(why, n_bytes, "making the graph", error), false;
}

bool iso__cuda_graph_end(iso__cuda_graph *g, char *why, size_t n_bytes) {
  const iso__cuda_device *d = g->device;
  iso__cuda_recording *r = d->recording;
  cudaGraph_t graph = NULL;
  const cudaError_t error = cudaStreamEndCapture(d->recorder, &graph);
  bool ok = false;
  if (error != cudaSuccess) say(why, n_bytes, "ending the capture", error);
  if (r->refusal[0]) snprintf(why, n_bytes, "%s", r->refusal);
  else if (error == cudaSuccess) ok = instantiate(g, graph, why, n_bytes);
  if (graph) cudaGraphDestroy(graph);
  iso__cuda_pool_end(d->pools); /* from here on another capture may begin, and refuse for itself */
  return ok;
}

iso_status iso__cuda_graph_launch(const iso__cuda_graph *g) {
  if (iso__cuda_refuses(g->device, "a captured step is replayed")) return ISO_UNSUPPORTED;
  iso__cuda_note(&g->device->row, "a captured step");
  return iso__cuda_status(cudaGraphLaunch(g->exec, g->device->stream));
}

void iso__cuda_graph_free(iso__cuda_graph *g) {
  if (!g) return;
  if (g->exec) {
    cudaStreamSynchronize(g->device->stream);
    cudaGraphExecDestroy(g->exec);
  }
  iso__cuda_pool_abandon(g->device->pools, g->pool);
  free(g);
}
