/* DLPack 1.x, the exchange format of array libraries: its structs as the standard lays them out, and tensors in and out of them. */
#ifndef ORTCORE_VALUE_DLPACK_H
#define ORTCORE_VALUE_DLPACK_H

#include <ortcore/value/ort_value.h>

typedef struct dl_tensor {
  void *data;
  struct { int32_t type, id; } device;
  int32_t rank;
  struct { uint8_t code, bits; uint16_t lanes; } dtype;
  int64_t *shape;
  int64_t *strides;                                        /* in elements; NULL: dense, row-major */
  uint64_t byte_offset;
} dl_tensor;

typedef struct dl_managed {
  dl_tensor tensor;
  void *context;
  void (*deleter)(struct dl_managed *self);
} dl_managed;

enum { DL_READ_ONLY = 1, DL_IS_COPIED = 2, DL_SUBBYTE_PADDED = 4 };   /* flags */
enum { DL_MAJOR = 1, DL_MINOR = 1 };

typedef struct dl_versioned {
  struct { uint32_t major, minor; } version;
  void *context;
  void (*deleter)(struct dl_versioned *self);
  uint64_t flags;
  dl_tensor tensor;
} dl_versioned;

/* Consumes `managed` (dl_versioned or dl_managed) on success: its deleter is called when the last reference to the memory goes. */
status dlpack_import(void *managed, bool versioned, bool copy_if_strided, ortc_value **out) MUST_CHECK;
status dlpack_export(ortc_value *v, bool versioned, void **out_managed) MUST_CHECK;
void dlpack_release(void *managed, bool versioned);

#endif
