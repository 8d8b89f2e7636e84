/* Words in which kernels leave word of bad data, with the node that they worked for; read by whoever waits for them. */
#include <ortcore/base/mem.h>
#include <ortcore/kernels/cuda/fault.h>
#include <ortcore/provider/cuda/gpu.h>
#include <string.h>

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

/* ---- Names ----
 *
 * A fault is read when the session may be gone, and recorded graphs keep what their launches were given, so that names of nodes are kept for
 * good, each once. Beyond MOST_NAMES of them faults are told without a node. */

enum { NAME_LISTS = 256, MOST_NAMES = 1 << 16 };
typedef struct known_node {
  struct known_node *next;
  const char *op_type;
  char name[];                                             /* then the operator's */
} known_node;
static struct { pthread_mutex_t lock; known_node *lists[NAME_LISTS]; int count; } known = {.lock = PTHREAD_MUTEX_INITIALIZER};

static known_node *remember(const node *n, known_node *next) {
  size_t name = strlen(n->name) + 1, op = strlen(n->op_type) + 1;
  known_node *made = known.count < MOST_NAMES ? mem_alloc(sizeof *made + name + op) : NULL;
  if (!made) return NULL;
  ++known.count;
  made->next = next;
  made->op_type = memcpy(made->name + name, n->op_type, op);
  memcpy(made->name, n->name, name);
  return made;
}

static const known_node *known_of(const node *n) {
  unsigned hash = 0;
  for (const char *c = n->name; *c; ++c) hash = hash * 31 + (unsigned char)*c;
  pthread_mutex_lock(&known.lock);
  known_node **list = &known.lists[hash % NAME_LISTS], *found = *list;
  while (found && (strcmp(found->name, n->name) || strcmp(found->op_type, n->op_type))) found = found->next;
  if (!found && (found = remember(n, *list))) *list = found;
  pthread_mutex_unlock(&known.lock);
  return found;
}

/* With unified addressing the device knows the words by the host's addresses. */
cuda_fault_place cuda_fault(const kernel_ctx *k, const stream *s) {
  return (cuda_fault_place){((const cuda_stream *)s)->fault, (int64_t)(intptr_t)known_of(k->node)};
}

status gpu_take_fault(const gpu *g, int64_t *word) {
  static const char *const texts[] = {
#define X(name, text) [GPU_FAULT_##name] = text,
    GPU_FAULTS(X)
#undef X
  };
  int64_t found = word ? __atomic_exchange_n(word, GPU_FAULT_NONE, __ATOMIC_RELAXED) : GPU_FAULT_NONE;
  if (found == GPU_FAULT_NONE) return OK;
  int64_t number = found >> GPU_FAULT_SHIFT;
  const known_node *at = (const known_node *)(intptr_t)(found & (((int64_t)1 << GPU_FAULT_SHIFT) - 1));
  bool is_known = number > 0 && number < (int64_t)(sizeof texts / sizeof *texts);
  status s = ERROR(INVALID_ARGUMENT, "%s: %s (found by a kernel; the outputs of the run are of no use)", g->title, is_known ? texts[number] : "bad data");
  return at ? status_at_node(status_context(s, "node '%s' (%s)", at->name, at->op_type), at->name) : s;
}
