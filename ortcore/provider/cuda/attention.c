/* Attention of ai.onnx: sizes and limits as the CPU finds them, caches joined on the device, and one of three kernels. */
#include <ortcore/kernels/cuda/attention.h>
#include <ortcore/ops/params/attention.h>
#include <ortcore/provider/cuda/plugin.h>

/* The mask and its kin may be of these types. */
#define MASKS (TS(BOOL) | CUDA_FLOATS)

static bool input_is(const node *n, const fact *const *in, int i, typeset types) {
  return i >= n->input_count || !in[i] || typeset_has(types, in[i]->type);
}

/* The size of a head is known, and one that the kernels have room for. */
static bool head_fits(const node *n, const fact *f, const char *attribute) {
  heads h;
  status s = f->rank < 0 ? OK : attention_heads(n, f->rank, f->dims, attribute, "", &h);
  bool fits = f->rank >= 0 && !s && dim_known(h.size) && h.size <= CUDA_ATTENTION_SIZE;
  status_release(s);
  return fits;
}

/* Scores are never all there, so they cannot be an output. */
static bool kernels_can(const node *n, const fact *const *in) {
  typeset type = (typeset)1 << in[ATTENTION_Q]->type;
  return input_is(n, in, ATTENTION_K, type) && input_is(n, in, ATTENTION_V, type) && input_is(n, in, ATTENTION_PAST_KEY, type) &&
         input_is(n, in, ATTENTION_PAST_VALUE, type) && input_is(n, in, ATTENTION_MASK, MASKS) && head_fits(n, in[ATTENTION_Q], "q_num_heads") &&
         head_fits(n, in[ATTENTION_V], "kv_num_heads") && (n->output_count < 4 || n->outputs[3] == NO_VALUE);
}

static cuda_heads on_device(head_view v) { return (cuda_heads){v.data, v.batch, v.head, v.row}; }

/* Where keys (or values) with their past are joined: an output if it is wanted, else scratch; NULL if there is nothing to join. */
static status join_target(kernel_ctx *k, const tensor *past, int output, const heads *now, void **out) {
  int64_t dims[4] = {now->batch, now->heads, now->length + (past ? past->dims[2] : 0), now->size};
  tensor joined, *wanted = NULL;
  *out = NULL;
  if (output < k->out_count && kernel_wants(k, output)) TRY(kernel_output(k, output, 4, dims, &wanted));
  if (wanted) *out = wanted->data;
  if (wanted || !past) return OK;
  TRY(tensor_init(&joined, past->type, 4, dims));
  return kernel_scratch(k, tensor_bytes(&joined), out);
}

/* Joins caches where there are any; then keys and values are longer, and lie by heads. */
static status join_caches(kernel_ctx *k, stream *on, heads *key, heads *v, head_view *keys, head_view *values) {
  static const struct { int input, past, output; const char *name; } parts[2] = {
    {ATTENTION_K, ATTENTION_PAST_KEY, 1, "past_key"}, {ATTENTION_V, ATTENTION_PAST_VALUE, 2, "past_value"}};
  heads *sizes[2] = {key, v};
  head_view *views[2] = {keys, values};
  cuda_cache caches[2] = {{0}};
  for (int i = 0; i < 2; ++i) {
    const tensor *now = k->in[parts[i].input], *past = attention_in(k, parts[i].past);
    heads *h = sizes[i];
    *views[i] = attention_view(now->rank, h, now->data);
    TRY(attention_check_past(past, parts[i].name, h));
    void *to;
    TRY(join_target(k, past, parts[i].output, h, &to));
    if (!to) continue;
    caches[i] = (cuda_cache){.past = past ? past->data : NULL, .now = on_device(*views[i]), .to = to, .heads = h->heads,
                             .past_length = past ? past->dims[2] : 0, .length = h->length, .size = h->size};
    h->length += caches[i].past_length;
    *views[i] = attention_view(4, h, to);
  }
  return caches[0].to || caches[1].to ? cuda_launched(cuda_attention_join(k->in[ATTENTION_K]->type, key->batch, caches, cuda_raw(on))) : OK;
}

static int32_t window(int64_t size) { return size > CUDA_ATTENTION_KEYS ? CUDA_ATTENTION_KEYS : (int32_t)size; }

static status to_device(const attention *a, dtype type, cuda_attention *out) {
  if (a->q_len > CUDA_ATTENTION_KEYS || a->kv_len > CUDA_ATTENTION_KEYS || a->batch > CUDA_ATTENTION_KEYS ||
      a->batch * a->q_heads * a->q_len > 0x7fffffff)
    return ERROR(NOT_IMPLEMENTED,
                 "%lld queries of %lld heads in a batch of %lld, or %lld keys, are more than the CUDA kernel can count: run the node on the CPU",
                 (long long)a->q_len, (long long)a->q_heads, (long long)a->batch, (long long)a->kv_len);
  if (a->size > CUDA_ATTENTION_SIZE || a->v_size > CUDA_ATTENTION_SIZE)
    return ERROR(NOT_IMPLEMENTED, "heads of size %lld and %lld are longer than the CUDA kernel takes (%d): run the node on the CPU",
                 (long long)a->size, (long long)a->v_size, CUDA_ATTENTION_SIZE);
  *out = (cuda_attention){
    .type = type, .batch = (int32_t)a->batch, .q_heads = (int32_t)a->q_heads, .kv_heads = (int32_t)a->kv_heads, .q_len = (int32_t)a->q_len,
    .kv_len = (int32_t)a->kv_len, .size = (int32_t)a->size, .v_size = (int32_t)a->v_size, .q = on_device(a->q), .k = on_device(a->k),
    .v = on_device(a->v), .y = on_device(a->y), .scale = (float)a->scale, .softcap = (float)a->softcap, .left = window(a->left),
    .right = window(a->right), .offset = (int32_t)a->offset, .valid = a->valid, .mask_batch = a->mask_batch, .mask_head = a->mask_head,
    .mask_row = a->mask_row, .mask_len = (int32_t)a->mask_len};
  if (a->mask) {
    out->mask = a->mask->data;
    out->mask_type = a->mask->type;
  }
  return OK;
}

static status attention_launch(kernel_ctx *k, stream *on) {
  const tensor *x = k->in[ATTENTION_Q];
  heads q, key, v;
  attention a = {0};
  cuda_attention device;
  tensor *y;
  TRY(attention_sizes(k, &q, &key, &v));
  TRY(join_caches(k, on, &key, &v, &a.k, &a.v));
  TRY(attention_describe(k, &q, &key, &v, &a));
  int64_t flat[3] = {q.batch, q.length, q.heads * v.size}, deep[4] = {q.batch, q.heads, q.length, v.size};
  heads result = {q.batch, q.heads, q.length, v.size};
  TRY(kernel_output(k, 0, x->rank, x->rank == 4 ? deep : flat, &y));
  if (!y || !y->count) return OK;
  a.q = attention_view(x->rank, &q, x->data);
  a.y = attention_view(x->rank, &result, y->data);
  TRY(to_device(&a, x->type, &device));
  device.fault = cuda_fault(k, on);
  int64_t bytes = cuda_attention_plan(&device);
  void *memory = NULL;
  if (bytes) TRY(kernel_scratch(k, (size_t)bytes, &memory));
  device.partial = memory;
  return cuda_launched(cuda_attention_run(&device, cuda_raw(on)));
}

KERNEL_FAMILY(attention) = {
  {.op = "Attention", .since = 23, .types = CUDA_FLOATS, .supports = kernels_can, .launch = attention_launch},
  {0}};
