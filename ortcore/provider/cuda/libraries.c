/* Finds cuBLASLt and cuDNN: in the process already, in the folders of the package's `cuda` extra, where the system has libraries. */
#include <dlfcn.h>
#include <ortcore/base/log.h>
#include <ortcore/provider/cuda/gpu.h>
#include <ortcore/provider/cuda/libraries.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SWITCH "ORTCORE_CUDA_LIBRARIES"                    /* "off": use neither; otherwise folders to look into first */

typedef struct library {
  const char *title, *package;                             /* what it is called, and the Python package that brings it */
  const char *files[3];                                    /* by preference, ends with NULL */
  size_t oldest;                                           /* as its own version function counts */
  pthread_once_t once;
  void *opened;
  const char *missing;                                     /* a function that it lacks */
  char why_not[1024];
} library;

static library cublas = {.title = "cuBLASLt", .package = "nvidia-cublas", .files = {"libcublasLt.so.13", "libcublasLt.so.12"}, .oldest = 120000,
                         .once = PTHREAD_ONCE_INIT};
static library cudnn = {.title = "cuDNN", .package = "nvidia-cudnn-cu13", .files = {"libcudnn.so.9"}, .oldest = 90000, .once = PTHREAD_ONCE_INIT};
static cublas_functions cublas_table;
static cudnn_functions cudnn_table;
static bool have_cublas, have_cudnn;

static pthread_mutex_t folders_lock = PTHREAD_MUTEX_INITIALIZER;
static char folders[4096];

void cuda_set_library_folders(const char *list) {
  pthread_mutex_lock(&folders_lock);
  snprintf(folders, sizeof folders, "%s", list ? list : "");
  pthread_mutex_unlock(&folders_lock);
}

/* ---- Finding ---- */

static void *open_in(const char *list, const char *file) {
  char path[4096];
  while (list && *list) {
    size_t length = strcspn(list, ":");
    bool fits = length && snprintf(path, sizeof path, "%.*s/%s", (int)length, list, file) < (int)sizeof path;
    void *opened = fits ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
    if (opened) return opened;
    list += length + (list[length] == ':');
  }
  return NULL;
}

/* A copy that is loaded already serves best: two versions of one library in a process get in each other's way. */
static void *open_file(const char *file) {
  void *opened = dlopen(file, RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
  if (!opened) opened = open_in(getenv(SWITCH), file);
  if (!opened) {
    pthread_mutex_lock(&folders_lock);
    opened = open_in(folders, file);
    pthread_mutex_unlock(&folders_lock);
  }
  return opened ? opened : dlopen(file, RTLD_NOW | RTLD_LOCAL);
}

static void *find_function(library *l, const char *name) {
  void *function = emulated_library_function ? emulated_library_function(name) : dlsym(l->opened, name);
  if (!function && !l->missing) l->missing = name;
  return function;
}

static bool open_library(library *l) {
  const char *wanted = getenv(SWITCH);
  if (wanted && strcmp(wanted, "off") == 0) {
    snprintf(l->why_not, sizeof l->why_not, "%s is not used: " SWITCH " is 'off'", l->title);
    return false;
  }
  if (emulated_library_function) return true;
  for (const char *const *file = l->files; *file && !l->opened; ++file) l->opened = open_file(*file);
  if (l->opened) return true;
  const char *reason = dlerror();
  snprintf(l->why_not, sizeof l->why_not, "%s is not used: %s cannot be opened (%s). Install it with `pip install %s`, or name its folder in " SWITCH, l->title,
           l->files[0], reason ? reason : "no such file", l->package);
  return false;
}

/* Complete and new enough? */
static bool accept(library *l, size_t version) {
  if (l->missing) {
    snprintf(l->why_not, sizeof l->why_not, "%s is not used: this version has no function %s. Update it with `pip install -U %s`", l->title, l->missing, l->package);
  } else if (version < l->oldest) {
    snprintf(l->why_not, sizeof l->why_not, "%s is not used: its version is %zu and %zu or newer is needed. Update it with `pip install -U %s`", l->title, version,
             l->oldest, l->package);
  } else {
    return true;
  }
  if (l->opened) dlclose(l->opened);
  l->opened = NULL;
  return false;
}

static void find_cublas(void) {
  if (open_library(&cublas)) {
#define X(result, name, symbol, parameters) *(void **)&cublas_table.name = find_function(&cublas, #symbol);
    CUBLAS_FUNCTIONS(X)
#undef X
    have_cublas = accept(&cublas, cublas.missing ? 0 : cublas_table.version());
  }
  if (!have_cublas) LOG(INFO, "%s", cublas.why_not);
}

static void find_cudnn(void) {
  if (open_library(&cudnn)) {
#define X(result, name, symbol, parameters) *(void **)&cudnn_table.name = find_function(&cudnn, #symbol);
    CUDNN_FUNCTIONS(X)
#undef X
    have_cudnn = accept(&cudnn, cudnn.missing ? 0 : cudnn_table.version());
  }
  if (!have_cudnn) LOG(INFO, "%s", cudnn.why_not);
}

const cublas_functions *cuda_cublas(const char **out_why_not) {
  pthread_once(&cublas.once, find_cublas);
  if (out_why_not) *out_why_not = have_cublas ? NULL : cublas.why_not;
  return have_cublas ? &cublas_table : NULL;
}

/* cuDNN itself wants cuBLASLt, which must be in the process before it if both come from the `cuda` extra. */
const cudnn_functions *cuda_cudnn(const char **out_why_not) {
  (void)cuda_cublas(NULL);
  pthread_once(&cudnn.once, find_cudnn);
  if (out_why_not) *out_why_not = have_cudnn ? NULL : cudnn.why_not;
  return have_cudnn ? &cudnn_table : NULL;
}

/* ---- Handles ---- */

status cublas_check(cublas_status result, const char *what) {
  if (result == CUBLAS_OK) return OK;
  ortc_status_code code = result == CUBLAS_ALLOC_FAILED ? ORTC_OUT_OF_MEMORY : ORTC_EP_FAIL;
  return status_make(code, "%s: cuBLASLt answers %s (%d)", what, have_cublas ? cublas_table.status_name(result) : "nothing", result);
}

status cudnn_check(cudnn_status result, const char *what) {
  if (result == CUDNN_OK) return OK;
  return status_make(ORTC_EP_FAIL, "%s: cuDNN answers %s (%d)", what, have_cudnn ? cudnn_table.status_name(result) : "nothing", result);
}

status cuda_cublas_handle(const device *d, cublas_handle *out) {
  gpu *g = (gpu *)(uintptr_t)gpu_of(d);
  const char *why_not = NULL;
  const cublas_functions *f = cuda_cublas(&why_not);
  status s = OK;
  *out = NULL;
  if (!f) return ERROR(EP_FAIL, "%s", why_not);
  pthread_mutex_lock(&g->lock);
  if (!g->cublas) s = cublas_check(f->create(&g->cublas), "a handle of cuBLASLt cannot be made");
  *out = g->cublas;
  pthread_mutex_unlock(&g->lock);
  return s;
}

/* A stream is one run's at a time, and so is its handle. */
status cuda_cudnn_handle(stream *s, cudnn_handle *out) {
  cuda_stream *c = (cuda_stream *)s;
  const char *why_not = NULL;
  const cudnn_functions *f = cuda_cudnn(&why_not);
  *out = NULL;
  if (!f) return ERROR(EP_FAIL, "%s", why_not);
  if (!c->cudnn) {
    cudnn_handle made = NULL;
    TRY(cudnn_check(f->create(&made), "a handle of cuDNN cannot be made"));
    status failed = cudnn_check(f->set_stream(made, c->raw), "a handle of cuDNN cannot be given its stream");
    if (failed) {
      f->destroy(made);
      return failed;
    }
    c->cudnn = made;
  }
  *out = c->cudnn;
  return OK;
}
