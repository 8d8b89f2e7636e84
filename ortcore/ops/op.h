/* How an operator is defined. One row of a family's table is one operator since one opset version:
 *
 *     OP_FAMILY(reduce) = {
 *       {.name = "ReduceSum", .since = 13, .signature = "data:T axes:i64? -> reduced:T", .T = TS_NUMERIC,
 *        .infer = reduce_infer, .prepare = reduce_prepare, .run = reduce_run},
 *       ...
 *       {0}};
 *
 * The signature gives names, arity and types: `X:T` required, `B:T?` optional, `inputs:T*` variadic (the last input or output; at least
 * one), each `inputs:V%` variadic where elements may differ in type. A type is a variable T, T1..T5, V (its set stands in the row; one
 * variable is one dtype throughout a node, except in a `%` list), a fixed dtype (f32 f64 f16 bf16 i8 i16 i32 i64 u8 u16 u32 u64 bool
 * str), or `any` (any kind, sequences, maps and optionals included). `seq(T)` and `opt(T)` are those kinds. ops/registry.c checks every node
 * against it and sets the dtype of outputs whose variable is bound by an input; `infer` sets the others and all shapes.
 *
 * Life of a node:
 *   infer       facts of outputs from facts of inputs; pure; may be called with anything unknown
 *   prepare     once at load: reads attributes and constant inputs into `params`, refuses with a reason what `run` cannot do
 *   specialise  once for each set of concrete dims: what is worth keeping per shape (a oneDNN primitive), and scratch size; optional
 *   run         computes; any number of threads at once on the same params and spec
 */
#ifndef ORTCORE_OPS_OP_H
#define ORTCORE_OPS_OP_H

#include <ortcore/ir/graph.h>

typedef struct op_def op_def;
struct cuda_options;                                        /* provider/cuda_options.h */

typedef struct infer_ctx {
  const node *node;
  const op_def *op;
  int32_t in_count, out_count;
  const fact *const *in;                                    /* NULL where an optional input is absent */
  fact **out;                                               /* NULL where an output is not wanted; kind and dtype are preset from the signature */
  /* For operators with subgraphs: infers `g` with these facts for its inputs; out facts are those of its outputs (lent). */
  status (*infer_subgraph)(struct infer_ctx *c, graph *g, int32_t count, const fact *const *inputs, const fact **outputs);
  void *user;
} infer_ctx;

typedef struct prepare_ctx {
  const node *node;
  const op_def *op;
  int32_t in_count, out_count;
  const fact *const *in;                                    /* ->value is set for constants: weights may be packed here */
  const fact *const *out;
  zone *memory;                                             /* lives as long as the session; params go here */
  int threads;                                              /* most that a run will have */
  const void *data;                                         /* of the row that serves the node: op_def.data, or a plugin's kernel_row.data */
  const struct cuda_options *cuda;                          /* what the session wants of CUDA; NULL on the CPU */
} prepare_ctx;

typedef struct specialise_ctx {
  const node *node;
  const void *params;
  int32_t in_count, out_count;
  const tensor *const *in;                                  /* dims, types and layouts; data only of constants, else NULL */
  const tensor *const *out;                                 /* NULL where not wanted; their rank is -1 if they depend on data */
  int threads;
  const void *data;
  const struct cuda_options *cuda;
  size_t scratch_bytes;                                     /* set it: run finds that much at k->scratch, 64-byte aligned */
  size_t reordered_bytes;                                   /* set it: what each run moves for no other reason than a layout; it is counted */
  const char *computed_by;                                  /* set it where a library does the work: its name, constant. It is told to who asks */
} specialise_ctx;

typedef struct kernel_ctx kernel_ctx;
struct kernel_ctx {
  const node *node;
  const void *params;
  const void *tables;                                       /* a plugin's kernel_row.tables, in device memory, 256-byte aligned */
  void *spec;                                               /* from specialise, which has always been called for these dims */
  void *scratch;
  int32_t in_count, out_count;
  const tensor *const *in;                                  /* NULL where absent; also for sequences, maps and empty optionals */
  int threads;
  const void *data;
  const struct kernel_services *services;                   /* use the functions below */
};

/* What a kernel may ask of the executor that runs it. */
typedef struct kernel_services {
  status (*output)(kernel_ctx *k, int32_t i, int rank, const int64_t *dims, tensor **out);
  status (*output_inferred)(kernel_ctx *k, int32_t i, tensor **out);
  status (*scratch)(kernel_ctx *k, size_t bytes, void **out);
  bool (*wants)(const kernel_ctx *k, int32_t i);
  ortc_value *(*in_value)(const kernel_ctx *k, int32_t i);
  ortc_value *(*take_value)(kernel_ctx *k, int32_t i);
  void (*set_value)(kernel_ctx *k, int32_t i, ortc_value *v);
  status (*out_like)(kernel_ctx *k, int32_t i, int32_t input, int rank, const int64_t *dims, bool *out_shared);
  status (*as_value)(kernel_ctx *k, int32_t i, ortc_value **out);
  bool (*cancelled)(const kernel_ctx *k);
} kernel_services;

/* The output tensor, ready to be written: dtype from its fact, shape as given, dense. It is planned memory, the caller's bound buffer (a wrong
 * shape there is an error that names it), or fresh. *out is NULL if nobody wants output i. String outputs are all "" at first.
 * Call it once an output, before writing; the memory of an input may be shared with output 0 only as op_def.inplace allows. */
static inline status kernel_output(kernel_ctx *k, int32_t i, int rank, const int64_t *dims, tensor **out) MUST_CHECK;
static inline status kernel_output(kernel_ctx *k, int32_t i, int rank, const int64_t *dims, tensor **out) { return k->services->output(k, i, rank, dims, out); }
/* Output i with the dims of `like`. */
static inline status kernel_output_like(kernel_ctx *k, int32_t i, const tensor *like, tensor **out) { return k->services->output(k, i, like->rank, like->dims, out); }
/* Output i with the dims that the operator's `infer` finds for this run's inputs; an error where they depend on data. For kernels of
 * plugins, which need not compute shapes again. */
static inline status kernel_output_inferred(kernel_ctx *k, int32_t i, tensor **out) { return k->services->output_inferred(k, i, out); }
/* Memory until run returns, beyond what specialise announced; 64-byte aligned, uninitialised. */
static inline status kernel_scratch(kernel_ctx *k, size_t bytes, void **out) { return k->services->scratch(k, bytes, out); }
static inline bool kernel_wants(const kernel_ctx *k, int32_t i) { return k->services->wants(k, i); }
/* Sequences, maps, optionals: lent; NULL if absent or empty. take_value gives a reference that may be the only one (then edit in place). */
static inline ortc_value *kernel_in_value(const kernel_ctx *k, int32_t i) { return k->services->in_value(k, i); }
static inline ortc_value *kernel_take_value(kernel_ctx *k, int32_t i) { return k->services->take_value(k, i); }
/* Gives the reference away. A tensor value becomes an ordinary tensor output. */
static inline void kernel_set_value(kernel_ctx *k, int32_t i, ortc_value *v) { k->services->set_value(k, i, v); }
/* A tensor input as a value of its own (shared memory if the frame's is counted, else a copy); retained. */
static inline status kernel_as_value(kernel_ctx *k, int32_t i, ortc_value **out) { return k->services->as_value(k, i, out); }
/* For OP_VIEW operators: output i has input's elements with other dims. Shares the memory where that is allowed, else copies. */
static inline status kernel_view(kernel_ctx *k, int32_t i, int32_t input, int rank, const int64_t *dims) { return k->services->out_like(k, i, input, rank, dims, NULL); }
/* Long loops ask now and then, and return FAIL when the caller has set terminate. */
static inline bool kernel_cancelled(const kernel_ctx *k) { return k->services->cancelled(k); }

enum op_flags {
  OP_VIEW = 1,                 /* output 0 is input 0's elements, unchanged and in order: Reshape, Identity, Squeeze... */
  OP_LAYOUT_ANY = 2,           /* elementwise: the channels-last pass may turn the dims of all its tensors alike */
  OP_NONDETERMINISTIC = 4,     /* random: never folded */
  OP_SUBGRAPHS = 8,            /* If, Loop, Scan: executed by exec/control.c, `run` is NULL */
  OP_VALUES = 16,              /* reads or writes sequences, maps or optionals */
  OP_SHAPE_ONLY = 32,          /* outputs depend on the dims of the inputs alone (Shape, Size): run never reads k->in[i]->data, which may be NULL */
  OP_TRANSFER = 64,            /* copies between host and device; executed by exec/transfer.c where a session has both */
};

struct op_def {
  const char *name;
  const char *domain;                                       /* NULL: ai.onnx */
  int since;
  const char *signature;
  typeset T, T1, T2, T3, T4, T5, V;
  uint32_t flags;
  uint32_t inplace;                                         /* bit i: output 0 may be written over input i of equal dtype and dims */
  status (*infer)(infer_ctx *c);                            /* NULL: output 0 has the shape of input 0 */
  status (*prepare)(prepare_ctx *c, void **out_params);     /* NULL: no params */
  void (*dispose)(void *params);                            /* NULL: params are zone memory only */
  status (*specialise)(specialise_ctx *c, void **out_spec);
  void (*dispose_spec)(void *spec);
  status (*run)(kernel_ctx *k);
  const void *data;                                         /* constant of the row, for families that share functions */
};

#define OP_FAMILY(family) const op_def ops_##family[]

/* The row for a node: highest `since` that is <= its opset; NULL if there is none. */
const op_def *op_find(const char *domain, const char *name, int64_t opset);
/* Arity and types against the signature; presets kind and dtype of the outputs. in/out as in infer_ctx. */
status op_check(const op_def *op, const node *n, int32_t in_count, const fact *const *in, int32_t out_count, fact **out) MUST_CHECK;
/* All rows, for tables and tests: index out of range gives NULL. */
const op_def *op_at(size_t index);

#endif
