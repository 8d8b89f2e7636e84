/* Words in which kernels leave word of bad data; read by whoever waits for them. */
#include <ortcore/kernels/cuda/fault.h>
#include <ortcore/provider/cuda/gpu.h>

/* The words are never freed: an event may be waited for after its stream is gone. */
status gpu_fault_word(gpu *g, int64_t **out) {
  void *words = NULL;
  status s = OK;
  pthread_mutex_lock(&g->lock);
  if (!g->faults) {
    s = gpu_status(g, cudaHostAlloc(&words, MOST_FAULTS * sizeof *g->faults, cudaHostAllocPortable | cudaHostAllocMapped), "page-locked memory cannot be allocated");
    g->faults = s ? NULL : words;
    for (int i = 0; g->faults && i < MOST_FAULTS; ++i) g->faults[i] = GPU_FAULT_NONE;
  }
  if (!s) *out = &g->faults[g->next_fault++ % MOST_FAULTS];
  pthread_mutex_unlock(&g->lock);
  return s;
}

status gpu_take_fault(const gpu *g, int64_t *word) {
  static const char *const texts[] = {
#define X(name, text) [GPU_FAULT_##name] = text,
    GPU_FAULTS(X)
#undef X
  };
  int64_t found = word ? __atomic_exchange_n(word, GPU_FAULT_NONE, __ATOMIC_RELAXED) : GPU_FAULT_NONE;
  if (found == GPU_FAULT_NONE) return OK;
  bool known = found > 0 && found < (int64_t)(sizeof texts / sizeof *texts);
  return ERROR(INVALID_ARGUMENT, "%s: %s (found by a kernel; the outputs of the run are of no use)", g->title, known ? texts[found] : "bad data");
}

/* With unified addressing the device knows the words by the host's addresses. */
int64_t *cuda_fault(const stream *s) { return ((const cuda_stream *)s)->fault; }
