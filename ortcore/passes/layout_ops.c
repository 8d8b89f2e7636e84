/* Which operators can work on channels-last images, and what changes in them. */
#include <ortcore/kernels/cpu/onednn/onednn.h>
#include <ortcore/passes/layout.h>
#include <string.h>

enum { RANK_LEAST = 3, RANK_MOST = 5 };

static bool is_scalar(layout_pass *l, int32_t v) { return v != NO_VALUE && fact_count(&l->g->values[v].fact) == 1; }
static bool is_constant(layout_pass *l, int32_t v) { return v != NO_VALUE && l->g->values[v].fact.value; }
static bool is_image(layout_pass *l, int32_t v) { int rank = layout_rank(l, v); return rank >= RANK_LEAST && rank <= RANK_MOST; }
static int32_t input(const node *n, int32_t i) { return i < n->input_count ? n->inputs[i] : NO_VALUE; }
static bool wants(const node *n, int32_t i) { return i < n->output_count && n->outputs[i] != NO_VALUE; }

/* Input i becomes its twin. */
static status turn_input(layout_pass *l, node *n, int32_t i, int rank) {
  int32_t twin;
  TRY(layout_twin(l, n->inputs[i], rank, &twin));
  n->inputs[i] = twin;
  return OK;
}

/* The operator of the internal domain that takes the attribute channels_last. */
static status use_own(layout_pass *l, node *n, const char *op_type) {
  n->op_type = op_type;
  n->domain = "ortcore";
  n->opset = 1;
  n->op = op_find("ortcore", op_type, 1);
  if (!n->op) return ERROR(ENGINE_ERROR, "the layout pass needs ortcore.%s, which does not exist", op_type);
  return node_set_attr_int(l->g, n, "channels_last", 1);
}

/* ---- Convolutions begin a chain, pools go along ---------------------------------------------------------------------- */

static status turn_conv(layout_pass *l, node *n, bool *out) {
  const fact *x = &l->g->values[n->inputs[0]].fact;
  if (!is_image(l, n->inputs[0]) || (x->type != ORTC_FLOAT && x->type != ORTC_BFLOAT16) || !is_constant(l, n->inputs[1])) return OK;
  int rank = x->rank;
  *out = true;
  TRY(turn_input(l, n, 0, rank));
  if (input(n, 3) != NO_VALUE) TRY(turn_input(l, n, 3, rank));
  TRY(use_own(l, n, strcmp(n->op_type, "ConvTranspose") ? "FusedConv" : "ConvTranspose"));
  return layout_turn_outputs(l, n);
}

static status turn_quantised_conv(layout_pass *l, node *n, bool *out) {
  if (!dnn_supports_bytes() || !is_image(l, n->inputs[0]) || !is_constant(l, n->inputs[3])) return OK;
  *out = true;
  TRY(turn_input(l, n, 0, layout_rank(l, n->inputs[0])));
  TRY(use_own(l, n, n->op_type));
  return layout_turn_outputs(l, n);
}

static status turn_pool(layout_pass *l, node *n, bool *out) {
  if (!layout_has_twin(l, n->inputs[0]) || wants(n, 1)) return OK;
  *out = true;
  TRY(turn_input(l, n, 0, layout_rank(l, n->inputs[0])));
  TRY(use_own(l, n, n->op_type));
  return layout_turn_outputs(l, n);
}

/* ---- Elementwise operators, and those with an axis -------------------------------------------------------------------- */

/* Inputs that must be images of one rank, with more twins than there are images to be transposed; scalars stay, constants are turned for nothing. */
static bool gains(layout_pass *l, const node *n, int32_t first, int32_t end, int *out_rank) {
  int twins = 0, others = 0, rank = 0;
  for (int32_t i = first; i < end; ++i) {
    int32_t v = input(n, i);
    if (v == NO_VALUE || is_scalar(l, v)) continue;
    if (is_constant(l, v)) continue;
    if (!is_image(l, v) || (rank && layout_rank(l, v) != rank)) return false;
    rank = layout_rank(l, v);
    if (layout_has_twin(l, v)) ++twins;
    else ++others;
  }
  for (int32_t i = first; i < end; ++i)
    if (is_constant(l, input(n, i)) && !is_scalar(l, input(n, i)) && layout_rank(l, input(n, i)) > rank) return false;
  *out_rank = rank;
  return twins > 0 && twins >= others;
}

static status turn_inputs(layout_pass *l, node *n, int32_t first, int32_t end, int rank) {
  for (int32_t i = first; i < end && i < n->input_count; ++i)
    if (n->inputs[i] != NO_VALUE && !is_scalar(l, n->inputs[i])) TRY(turn_input(l, n, i, rank));
  return OK;
}

static status turn_elementwise(layout_pass *l, node *n, bool *out) {
  int rank;
  if (!gains(l, n, 0, n->input_count, &rank) || layout_rank(l, n->outputs[0]) != rank) return OK;
  *out = true;
  TRY(turn_inputs(l, n, 0, n->input_count, rank));
  return layout_turn_outputs(l, n);
}

static bool read_axis(const node *n, int64_t fallback, int rank, int *out) {
  int64_t axis = attr_int_or(n, "axis", fallback);
  if (axis < -rank || axis >= rank) return false;
  *out = layout_axis((int)(axis < 0 ? axis + rank : axis), rank);
  return true;
}

/* Every input is an image that is joined, none a scalar to be left alone. */
static status turn_concat(layout_pass *l, node *n, bool *out) {
  int rank, axis;
  for (int32_t i = 0; i < n->input_count; ++i)
    if (!is_image(l, n->inputs[i])) return OK;
  if (!gains(l, n, 0, n->input_count, &rank) || !read_axis(n, 0, rank, &axis)) return OK;
  *out = true;
  for (int32_t i = 0; i < n->input_count; ++i) TRY(turn_input(l, n, i, rank));
  TRY(node_set_attr_int(l->g, n, "axis", axis));
  return layout_turn_outputs(l, n);
}

/* Split, and Softmax since it works along one axis. */
static status turn_axis(layout_pass *l, node *n, int64_t fallback, bool *out) {
  int rank = layout_rank(l, n->inputs[0]), axis;
  if (!layout_has_twin(l, n->inputs[0]) || !read_axis(n, fallback, rank, &axis)) return OK;
  *out = true;
  TRY(turn_input(l, n, 0, rank));
  TRY(node_set_attr_int(l->g, n, "axis", axis));
  return layout_turn_outputs(l, n);
}

static status turn_split(layout_pass *l, node *n, bool *out) { return turn_axis(l, n, 0, out); }
static status turn_softmax(layout_pass *l, node *n, bool *out) { return n->opset < 13 ? OK : turn_axis(l, n, -1, out); }

/* One scale for all elements, or one along an axis. */
static status turn_quantize(layout_pass *l, node *n, bool *out) {
  int rank = layout_rank(l, n->inputs[0]), axis = 0;
  bool has_axis = !is_scalar(l, input(n, 1));
  if (!layout_has_twin(l, n->inputs[0]) || attr_int_or(n, "block_size", 0) || (has_axis && !read_axis(n, 1, rank, &axis))) return OK;
  *out = true;
  TRY(turn_input(l, n, 0, rank));
  if (has_axis) TRY(node_set_attr_int(l->g, n, "axis", axis));
  return layout_turn_outputs(l, n);
}

/* ---- Reductions and slices: axes in an attribute or a constant --------------------------------------------------------- */

static int read_axes(layout_pass *l, const node *n, int32_t index, int rank, int64_t *out) {
  int64_t count = 0, given[RANK_MOST];
  const int64_t *axes = attr_ints(n, "axes", &count);
  if (!axes && input(n, index) != NO_VALUE) {
    count = fact_integers(&l->g->values[n->inputs[index]].fact, given, RANK_MOST);
    axes = given;
  }
  if (!axes || count < 1 || count > RANK_MOST) return 0;
  for (int64_t i = 0; i < count; ++i) {
    if (axes[i] < -rank || axes[i] >= rank) return 0;
    out[i] = layout_axis((int)(axes[i] < 0 ? axes[i] + rank : axes[i]), rank);
  }
  return (int)count;
}

static status turn_axes(layout_pass *l, node *n, int32_t index, bool *out) {
  int rank = layout_rank(l, n->inputs[0]), count;
  int64_t axes[RANK_MOST];
  if (!layout_has_twin(l, n->inputs[0]) || !(count = read_axes(l, n, index, rank, axes))) return OK;
  *out = true;
  TRY(turn_input(l, n, 0, rank));
  if (attr_find(n, "axes")) TRY(node_set_attr_ints(l->g, n, "axes", count, axes));
  else TRY(layout_constant(l, count, axes, &n->inputs[index]));
  return layout_turn_outputs(l, n);
}

static status turn_reduction(layout_pass *l, node *n, bool *out) { return attr_int_or(n, "keepdims", 1) ? turn_axes(l, n, 1, out) : OK; }
static status turn_slice(layout_pass *l, node *n, bool *out) { return turn_axes(l, n, 3, out); }

/* ---- Resize: a factor or a size for each dim --------------------------------------------------------------------------- */

static status permuted_constant(layout_pass *l, int32_t v, int rank, int32_t *out) {
  const tensor *t = l->g->values[v].fact.value;
  tensor p;
  buffer *memory;
  int64_t count = rank;
  TRY(tensor_init(&p, t->type, 1, &count));
  TRY(buffer_create(NULL, tensor_bytes(&p), &memory));
  p.data = memory->data;
  size_t width = (size_t)tensor_width(t);
  for (int d = 0; d < rank; ++d) memcpy((char *)p.data + (size_t)layout_axis(d, rank) * width, (const char *)t->data + (size_t)d * width, width);
  status s = graph_add_value(l->g, NULL, out);
  if (!s) s = graph_set_constant(l->g, *out, &p, memory);
  buffer_release(memory);
  return s;
}

static status turn_resize(layout_pass *l, node *n, bool *out) {
  int rank = layout_rank(l, n->inputs[0]);
  text mode = attr_string_or(n, "coordinate_transformation_mode", "half_pixel");
  if (!layout_has_twin(l, n->inputs[0]) || attr_find(n, "axes") || attr_find(n, "scales") || !strcmp(mode.data, "tf_crop_and_resize")) return OK;
  /* Upsample and Resize 10 have the scales second; later ones have regions before, and sizes behind. */
  int32_t first = n->input_count > 2 ? 2 : 1;
  for (int32_t i = first; i < n->input_count; ++i)
    if (n->inputs[i] != NO_VALUE && (!is_constant(l, n->inputs[i]) || (fact_count(&l->g->values[n->inputs[i]].fact) != rank &&
                                                                       fact_count(&l->g->values[n->inputs[i]].fact) != 0))) return OK;
  *out = true;
  TRY(turn_input(l, n, 0, rank));
  for (int32_t i = first; i < n->input_count; ++i)
    if (n->inputs[i] != NO_VALUE && fact_count(&l->g->values[n->inputs[i]].fact) == rank)
      TRY(permuted_constant(l, n->inputs[i], rank, &n->inputs[i]));
  return layout_turn_outputs(l, n);
}

/* ---- The table ---------------------------------------------------------------------------------------------------------- */

typedef status (*turn_fn)(layout_pass *l, node *n, bool *out);

static const struct { const char *op_type; turn_fn turn; } table[] = {
  {"QLinearConv", turn_quantised_conv}, {"Conv", turn_conv}, {"FusedConv", turn_conv}, {"ConvTranspose", turn_conv}, {"MaxPool", turn_pool}, {"AveragePool", turn_pool},
      {"LpPool", turn_pool},
  {"GlobalMaxPool", turn_pool}, {"GlobalAveragePool", turn_pool}, {"GlobalLpPool", turn_pool}, {"Concat", turn_concat}, {"Split", turn_split},
  {"Softmax", turn_softmax}, {"LogSoftmax", turn_softmax}, {"ReduceMean", turn_reduction}, {"ReduceMax", turn_reduction},
      {"ReduceMin", turn_reduction},
  {"ReduceSum", turn_reduction}, {"Slice", turn_slice}, {"QuantizeLinear", turn_quantize}, {"DequantizeLinear", turn_quantize},
      {"Resize", turn_resize}, {"Upsample", turn_resize},
};

status layout_turn(layout_pass *l, node *n, bool *out_turned) {
  *out_turned = false;
  /* Nodes that are turned already have the attribute; those of other domains have meanings of their own. */
  bool known = !*n->domain || (!strcmp(n->domain, "ortcore") && !attr_find(n, "channels_last"));
  if (n->output_count == 0 || n->input_count == 0 || n->inputs[0] == NO_VALUE || n->outputs[0] == NO_VALUE) return OK;
  for (size_t i = 0; known && i < sizeof table / sizeof *table; ++i)
    if (!strcmp(n->op_type, table[i].op_type)) return table[i].turn(l, n, out_turned);
  return n->op->flags & OP_LAYOUT_ANY ? turn_elementwise(l, n, out_turned) : OK;
}

/* Marks what may use Winograd's algorithm; the kernel decides by the dims. A pass of its own, so that it can be switched off by name. */
status pass_winograd(graph *g, const pass_env *env, bool *out_changed) {
  (void)env;
  for (int32_t i = 0; i < g->node_count; ++i) {
    node *n = g->nodes[i];
    if (strcmp(n->domain, "ortcore") || strcmp(n->op_type, "FusedConv") || !attr_find(n, "channels_last") || attr_find(n, "winograd")) continue;
    TRY(node_set_attr_int(g, n, "winograd", 1));
    *out_changed = true;
  }
  return OK;
}
