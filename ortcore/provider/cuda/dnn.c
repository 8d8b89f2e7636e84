#include <cuda_runtime_api.h>
#include <ortcore/base/mem.h>
#include <ortcore/provider/cuda/dnn.h>
#include <ortcore/provider/cuda/libraries.h>
#include <pthread.h>

struct dnn_plan {
  const cudnn_functions *f;
  cudnn_tensor x, y, bias_tensor;
  cudnn_filter w;
  cudnn_convolution convolution;
  cudnn_activation activation;
  bool fused;                                               /* bias, residual and activation in the library's launch */
  bool finishes;                                            /* what is left then, in one of ours */
  size_t most_workspace, workspace_bytes;
  pthread_mutex_t lock;                                     /* of the next two */
  bool measures;                                            /* the first run is still to try the algorithms out */
  int algorithm;
};

enum { DNN_WORKSPACE = 32 << 20, DNN_RANK = 5, DNN_CHOICES = 8, DNN_DEVICES = 64 };

void dnn_plan_release(dnn_plan *p) {
  if (!p) return;
  if (p->x) p->f->tensor_destroy(p->x);
  if (p->y) p->f->tensor_destroy(p->y);
  if (p->bias_tensor) p->f->tensor_destroy(p->bias_tensor);
  if (p->w) p->f->filter_destroy(p->w);
  if (p->convolution) p->f->convolution_destroy(p->convolution);
  if (p->activation) p->f->activation_destroy(p->activation);
  pthread_mutex_destroy(&p->lock);
  mem_free(p);
}

static int type_of(dtype type) {
  return type == ORTC_FLOAT ? CUDNN_F32 : type == ORTC_DOUBLE ? CUDNN_F64 : type == ORTC_FLOAT16 ? CUDNN_F16 : CUDNN_BF16;
}

/* [images, channels, spatial...], dense; two spatial axes at least. */
static cudnn_status set_tensor(const cudnn_functions *f, cudnn_tensor *out, int type, int64_t images, int64_t channels, int axes,
                               const int32_t *extents) {
  int dims[DNN_RANK] = {(int)images, (int)channels}, strides[DNN_RANK];
  for (int d = 0; d < axes; ++d) dims[2 + d] = extents ? extents[CUDA_SPATIAL - axes + d] : 1;
  for (int d = 1 + axes, step = 1; d >= 0; step *= dims[d--]) strides[d] = step;
  cudnn_status s = f->tensor_create(out);
  return s ? s : f->tensor_set(*out, type, 2 + axes, dims, strides);
}

static cudnn_status describe(dnn_plan *p, const cuda_conv *c, bool tf32) {
  const cudnn_functions *f = p->f;
  const cuda_window *w = &c->window;
  int type = type_of(c->type), axes = w->in[0] == 1 && w->kernel[0] == 1 && w->out[0] == 1 ? 2 : 3, first = CUDA_SPATIAL - axes;
  int filter[DNN_RANK] = {(int)(c->groups * c->outs), (int)c->ins}, pads[CUDA_SPATIAL], strides[CUDA_SPATIAL], dilations[CUDA_SPATIAL];
  for (int d = 0; d < axes; ++d) {
    filter[2 + d] = w->kernel[first + d];
    pads[d] = w->begin[first + d], strides[d] = w->stride[first + d], dilations[d] = w->dilation[first + d];
  }
  bool relu = c->act.kind == ACTIVATION_RELU && p->fused;
  int math = c->type == ORTC_FLOAT    ? (tf32 ? CUDNN_MATH_DEFAULT : CUDNN_MATH_FMA)
             : c->type == ORTC_DOUBLE ? CUDNN_MATH_DEFAULT
                                      : CUDNN_MATH_TENSOR_OP;
  cudnn_status s = set_tensor(f, &p->x, type, c->images, c->groups * c->ins, axes, w->in);
  if (!s) s = set_tensor(f, &p->y, type, c->images, c->groups * c->outs, axes, w->out);
  if (!s) s = set_tensor(f, &p->bias_tensor, type, 1, c->groups * c->outs, axes, NULL);
  if (!s) s = f->filter_create(&p->w);
  if (!s) s = f->filter_set(p->w, type, CUDNN_NCHW, 2 + axes, filter);
  if (!s) s = f->convolution_create(&p->convolution);
  if (!s)
    s = f->convolution_set(p->convolution, axes, pads, strides, dilations, CUDNN_CROSS_CORRELATION,
                           c->type == ORTC_DOUBLE ? CUDNN_F64 : CUDNN_F32);
  if (!s) s = f->convolution_set_groups(p->convolution, (int)c->groups);
  if (!s) s = f->convolution_set_math(p->convolution, math);
  if (!s) s = f->activation_create(&p->activation);
  return s ? s : f->activation_set(p->activation, relu ? CUDNN_ACTIVATION_RELU : CUDNN_ACTIVATION_IDENTITY, CUDNN_PROPAGATE_NAN, 0);
}

/* Questions about shapes need a handle too: one a device, kept for good, asked by one thread at a time. */
static pthread_mutex_t asking = PTHREAD_MUTEX_INITIALIZER;

static status asking_handle(const cudnn_functions *f, cudnn_handle *out) {
  static cudnn_handle handles[DNN_DEVICES];
  int index = 0;
  *out = NULL;
  if (cudaGetDevice(&index) != cudaSuccess || index < 0 || index >= DNN_DEVICES) return OK;
  if (!handles[index]) TRY(cudnn_check(f->create(&handles[index]), "a handle of cuDNN cannot be made"));
  *out = handles[index];
  return OK;
}

/* Bias without an activation is possible with one algorithm only; that one is also the option's DEFAULT. */
static status choose(dnn_plan *p, const cuda_conv *c, conv_search search, bool *out_known) {
  const cudnn_functions *f = p->f;
  cudnn_choice choices[DNN_CHOICES] = {{.algorithm = CUDNN_IMPLICIT_PRECOMP_GEMM}};
  cudnn_handle handle;
  int count = 1;
  bool only_one = search == CONV_SEARCH_DEFAULT || (p->fused && c->act.kind != ACTIVATION_RELU);
  pthread_mutex_lock(&asking);
  status failure = asking_handle(f, &handle);
  if (failure || !handle) count = 0;
  else if (only_one) choices[0].status = f->workspace_bytes(handle, p->x, p->w, p->convolution, p->y, choices[0].algorithm, &choices[0].workspace_bytes);
  else if (f->choose(handle, p->x, p->w, p->convolution, p->y, DNN_CHOICES, &count, choices)) count = 0;
  pthread_mutex_unlock(&asking);
  for (int i = 0; i < count && !*out_known; ++i) {
    if (choices[i].status || choices[i].workspace_bytes > p->most_workspace) continue;
    p->algorithm = choices[i].algorithm;
    p->workspace_bytes = choices[i].workspace_bytes;
    *out_known = true;
  }
  p->measures = !only_one && search == CONV_SEARCH_EXHAUSTIVE;
  return failure;
}

/* What the library's interface can say: pads alike on both sides, images as the model has them. */
static bool is_regular(const cuda_conv *c) {
  bool regular = !c->transposed && c->route != CUDA_CONV_DIRECT && c->y.axis[2] == 1 && c->images > 0 && c->ins > 0 && c->outs > 0 &&
                 c->images <= INT32_MAX;
  for (int d = 0; d < CUDA_SPATIAL; ++d)
    regular = regular && c->window.begin[d] == c->window.end[d] && c->window.out[d] > 0 && c->window.in[d] > 0;
  return regular;
}

status dnn_plan_create(const cuda_conv *c, bool bias, bool residual, const cuda_options *options, dnn_plan **out) {
  *out = NULL;
  const cudnn_functions *f = options && !options->cudnn ? NULL : cuda_cudnn(NULL);
  if (!f || !is_regular(c)) return OK;
  dnn_plan *p = MEM_NEW(dnn_plan);
  if (!p) return status_out_of_memory();
  pthread_mutex_init(&p->lock, NULL);
  p->f = f;
  bool own_activation = c->act.kind != ACTIVATION_NONE && c->act.kind != ACTIVATION_RELU;
  p->fused = bias;
  p->finishes = own_activation || (!bias && (residual || c->act.kind != ACTIVATION_NONE));
  conv_search search = options ? options->conv_search : CONV_SEARCH_EXHAUSTIVE;
  p->most_workspace = !options || options->conv_max_workspace ? SIZE_MAX : DNN_WORKSPACE;
  bool known = false;
  status failure = describe(p, c, !options || options->tf32) ? OK : choose(p, c, search, &known);
  if (known) *out = p;
  else dnn_plan_release(p);                                 /* it does not know such a convolution */
  return failure;
}

/* Trying algorithms out launches kernels and waits for them, which a stream that is being recorded cannot. */
static bool is_capturing(void *stream) {
  enum cudaStreamCaptureStatus capturing = cudaStreamCaptureStatusNone;
  return cudaStreamIsCapturing(stream, &capturing) != cudaSuccess || capturing != cudaStreamCaptureStatusNone;
}

/* The fastest of those that the workspace suffices for; the choice made before stays if none can be measured. */
static void measure(dnn_plan *p, cudnn_handle handle, const cuda_operands *o, void *workspace) {
  cudnn_choice choices[DNN_CHOICES];
  int count = 0;
  cudnn_status s = p->f->measure(handle, p->x, o->b, p->w, o->a, p->convolution, p->y, o->c, DNN_CHOICES, &count, choices, workspace, p->workspace_bytes);
  for (int i = 0; !s && i < count; ++i) {
    if (choices[i].status || choices[i].workspace_bytes > p->workspace_bytes) continue;
    p->algorithm = choices[i].algorithm;
    return;
  }
}

size_t dnn_scratch_bytes(const dnn_plan *p) { return p->workspace_bytes; }

status dnn_run(dnn_plan *p, const cuda_conv *c, const cuda_operands *o, stream *s) {
  cudnn_handle handle;
  void *workspace = o->scratch, *raw = cuda_raw(s);
  float one_f32 = 1, zero_f32 = 0;
  double one_f64 = 1, zero_f64 = 0;
  bool is_double = c->type == ORTC_DOUBLE;
  const void *one = is_double ? (const void *)&one_f64 : &one_f32, *zero = is_double ? (const void *)&zero_f64 : &zero_f32;
  cudnn_status result;
  TRY(cuda_cudnn_handle(s, &handle));
  pthread_mutex_lock(&p->lock);
  if (p->measures && !is_capturing(raw)) {
    measure(p, handle, o, workspace);
    p->measures = false;
  }
  int algorithm = p->algorithm;
  pthread_mutex_unlock(&p->lock);
  if (p->fused) {
    const void *z = o->residual ? o->residual : o->c;
    result = p->f->convolve_bias_activate(handle, one, p->x, o->b, p->w, o->a, p->convolution, algorithm, workspace, p->workspace_bytes,
                                          o->residual ? one : zero, p->y, z, p->bias_tensor, o->bias, p->activation, p->y, o->c);
  } else {
    result =
        p->f->convolve(handle, one, p->x, o->b, p->w, o->a, p->convolution, algorithm, workspace, p->workspace_bytes, zero, p->y, o->c);
  }
  TRY(cudnn_check(result, "cuDNN cannot convolve the images"));
  if (!p->finishes) return OK;
  cuda_operands rest = {.residual = p->fused ? NULL : o->residual, .c = o->c};
  return cuda_launched(cuda_product_finish(&c->product, &rest, raw));
}
