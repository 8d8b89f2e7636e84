/* Einsum of one or two operands on a GPU: a matrix product over strides where its labels form one, else a sum of products.
 *
 * Labels fall into four groups: in both operands and in the result (batch), in both and not in the result (inner), and those of the result that
 * only the left (rows) or only the right operand has (columns). What else is summed, only the general kernel sums. */
#include <ortcore/base/mem.h>
#include <ortcore/kernels/cuda/contract.h>
#include <ortcore/kernels/cuda/product.h>
#include <ortcore/ops/einsum_equation.h>
#include <ortcore/provider/cuda/plugin.h>

typedef struct einsum_spec { bool is_product; cuda_product product; cuda_contraction general; } einsum_spec;

enum side { LEFT, RIGHT, RESULT, SIDES };

/* Steps by label of each operand and of the result; -1 where it does not have the label. */
typedef struct steps { int64_t of[SIDES][LABELS]; } steps;

static bool read_equation(const char *equation, int count, const int *ranks, const dim *const *dims, einsum *e) {
  status s = einsum_read(equation, count, ranks, dims, e);
  if (!s) return true;
  status_release(s);
  return false;
}

/* Known ranks, and as many labels as the kernels have axes for. Errors are left to the CPU's row, which finds them too. */
static bool einsum_supports(const node *n, const fact *const *in) {
  int ranks[2], labels = 0;
  const dim *dims[2];
  einsum e;
  if (n->input_count > 2) return false;
  for (int32_t i = 0; i < n->input_count; ++i) {
    if (in[i]->rank == RANK_UNKNOWN) return false;
    ranks[i] = in[i]->rank, dims[i] = in[i]->dims;
  }
  if (!read_equation(attr_string_or(n, "equation", "").data, n->input_count, ranks, dims, &e)) return false;
  for (int i = 0; i < LABELS; ++i) labels += e.used[i];
  return labels <= CUDA_CONTRACT_AXES;
}

static status einsum_prepare(prepare_ctx *c, void **out_params) {
  (void)c;
  *out_params = NULL;
  return OK;
}

/* A repeated label walks the diagonal; a dim of 1 stands still. */
static void operand_steps(const einsum_term *term, const int64_t *dims, int64_t *out) {
  int64_t step = 1;
  for (int i = 0; i < LABELS; ++i) out[i] = -1;
  for (int i = term->rank - 1; i >= 0; --i) {
    int64_t *at = &out[term->labels[i]];
    if (*at < 0) *at = 0;
    if (dims[i] != 1) *at += step;
    step *= dims[i];
  }
}

/* One step through all labels of a group, in the order given; false where there is none. */
static bool merged(const einsum *e, int count, const int *labels, const int64_t *of, int64_t *out) {
  int64_t size = 1;
  *out = 0;
  for (int i = count - 1; i >= 0; --i) {
    int64_t d = e->dims[labels[i]];
    if (d == 1) continue;
    if (size == 1) *out = of[labels[i]];
    else if (of[labels[i]] != *out * size) return false;
    size *= d;
  }
  return true;
}

static int64_t size_of(const einsum *e, int count, const int *labels) {
  int64_t n = 1;
  for (int i = 0; i < count; ++i) n *= e->dims[labels[i]];
  return n;
}

/* False where the equation is no product of matrices with regular strides. */
static bool as_product(const einsum *e, const steps *s, dtype type, cuda_product *p) {
  int rows[LABELS], columns[LABELS], inner[LABELS], row_count = 0, column_count = 0, inner_count = 0;
  *p = (cuda_product){.type = type, .end = {.alpha = 1, .beta = 1}};
  for (int i = 0; i < e->out.rank; ++i) {
    int label = e->out.labels[i];
    bool left = s->of[LEFT][label] >= 0, right = s->of[RIGHT][label] >= 0;
    if (left && right && !cuda_batch_add(&p->batch, e->dims[label], s->of[LEFT][label], s->of[RIGHT][label], s->of[RESULT][label], 0))
      return false;
    if (left && !right) rows[row_count++] = label;
    if (right && !left) columns[column_count++] = label;
  }
  for (int i = 0; i < e->in[0].rank; ++i) {
    int label = e->in[0].labels[i];
    bool listed = false;
    for (int j = 0; j < inner_count; ++j) listed = listed || inner[j] == label;
    if (s->of[RESULT][label] < 0 && !listed) inner[inner_count++] = label;
  }
  for (int i = 0; i < LABELS; ++i)
    if (e->used[i] && s->of[RESULT][i] < 0 && (s->of[LEFT][i] < 0 || s->of[RIGHT][i] < 0)) return false;
  p->m = size_of(e, row_count, rows), p->n = size_of(e, column_count, columns), p->k = size_of(e, inner_count, inner);
  if (p->batch.rank == 0 && p->batch.count == 0) p->batch.count = 1;
  return p->m <= INT32_MAX && p->n <= INT32_MAX && p->k <= INT32_MAX && merged(e, row_count, rows, s->of[LEFT], &p->a_row) &&
         merged(e, row_count, rows, s->of[RESULT], &p->c_row) && merged(e, column_count, columns, s->of[RIGHT], &p->b_column) &&
         merged(e, column_count, columns, s->of[RESULT], &p->c_column) && merged(e, inner_count, inner, s->of[LEFT], &p->a_inner) &&
         merged(e, inner_count, inner, s->of[RIGHT], &p->b_inner);
}

static void as_contraction(const einsum *e, const steps *s, dtype type, cuda_contraction *c) {
  *c = (cuda_contraction){.type = type};
  for (int i = 0; i < e->out.rank; ++i) {
    int label = e->out.labels[i], at = c->kept++;
    c->kept_dims[at] = e->dims[label];
    c->kept_a[at] = s->of[LEFT][label] > 0 ? s->of[LEFT][label] : 0, c->kept_b[at] = s->of[RIGHT][label] > 0 ? s->of[RIGHT][label] : 0;
  }
  for (int label = 0; label < LABELS; ++label) {
    if (!e->used[label] || s->of[RESULT][label] >= 0) continue;
    int at = c->summed++;
    c->summed_dims[at] = e->dims[label];
    c->summed_a[at] = s->of[LEFT][label] > 0 ? s->of[LEFT][label] : 0, c->summed_b[at] = s->of[RIGHT][label] > 0 ? s->of[RIGHT][label] : 0;
  }
}

static status einsum_specialise(specialise_ctx *c, void **out_spec) {
  int ranks[2];
  const dim *dims[2];
  int64_t out_dims[LABELS];
  einsum e;
  steps s;
  for (int i = 0; i < c->in_count; ++i) ranks[i] = c->in[i]->rank, dims[i] = c->in[i]->dims;
  TRY(einsum_read(attr_string_or(c->node, "equation", "").data, c->in_count, ranks, dims, &e));
  for (int i = 0; i < e.out.rank; ++i) out_dims[i] = e.dims[e.out.labels[i]];
  operand_steps(&e.in[0], dims[0], s.of[LEFT]);
  if (c->in_count > 1) operand_steps(&e.in[1], dims[1], s.of[RIGHT]);
  else for (int i = 0; i < LABELS; ++i) s.of[RIGHT][i] = -1;
  operand_steps(&e.out, out_dims, s.of[RESULT]);
  einsum_spec *spec = mem_alloc(sizeof *spec);
  if (!spec) return status_out_of_memory();
  spec->is_product = c->in_count == 2 && as_product(&e, &s, c->in[0]->type, &spec->product);
  as_contraction(&e, &s, c->in[0]->type, &spec->general);
  if (spec->is_product) {
    cuda_product_plan(&spec->product, cuda_processors());
    c->scratch_bytes = spec->product.scratch_bytes;
  }
  *out_spec = spec;
  return OK;
}

static status einsum_launch(kernel_ctx *k, stream *s) {
  const einsum_spec *spec = k->spec;
  const void *a = k->in[0]->data, *b = k->in_count > 1 ? k->in[1]->data : NULL;
  tensor *y;
  TRY(kernel_output_inferred(k, 0, &y));
  if (!y || y->count == 0) return OK;
  cuda_operands o = {.a = a, .b = b, .c = y->data, .scratch = k->scratch};
  if (spec->is_product) return cuda_launched(cuda_product_run(&spec->product, &o, cuda_raw(s)));
  return cuda_launched(cuda_contract(&spec->general, a, b, y->data, cuda_raw(s)));
}

KERNEL_FAMILY(einsum) = {
  {.op = "Einsum", .since = 12, .types = TS_FLOAT, .supports = einsum_supports, .prepare = einsum_prepare, .specialise = einsum_specialise,
   .dispose_spec = mem_free, .launch = einsum_launch},
  {0}};
