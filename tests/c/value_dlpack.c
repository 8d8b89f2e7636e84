/* DLPack in and out: sharing, ownership, strides, read-only memory, every element type, versions. */
#include "check.h"

#include <ortcore/value/dlpack.h>

/* A producer whose deleters count. */
static int deleted;
static void delete_plain(dl_managed *self) { (void)self; ++deleted; }
static void delete_versioned(dl_versioned *self) { (void)self; ++deleted; }

static float matrix[12] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};

static dl_versioned producer(int64_t *shape, int64_t *strides) {
  dl_versioned m = {.version = {1, 0}, .deleter = delete_versioned};
  m.tensor = (dl_tensor){.data = matrix, .device = {1, 0}, .rank = 2, .dtype = {2, 32, 1}, .shape = shape, .strides = strides};
  return m;
}

static void test_import_shares(void) {
  int64_t shape[] = {3, 4};
  dl_versioned m = producer(shape, NULL);
  dl_managed p = {.tensor = m.tensor, .deleter = delete_plain};
  ortc_value *v, *w, *view;
  deleted = 0;
  CHECK_OK(ortc_value_from_dlpack(&m, true, false, &v));
  CHECK_OK(ortc_value_from_dlpack(&p, false, false, &w));
  CHECK(ortc_value_get_data(v) == matrix && ortc_value_get_data(w) == matrix);
  CHECK(!ortc_value_is_read_only(v));
  CHECK_OK(ortc_value_reshape(v, 1, (int64_t[]){12}, &view));
  ortc_value_release(v);
  ortc_value_release(w);
  CHECK_INT(deleted, 1);
  ortc_value_release(view);
  CHECK_INT(deleted, 2);

  m.flags = DL_READ_ONLY;
  m.tensor.byte_offset = 4;
  shape[0] = 2;
  CHECK_OK(ortc_value_from_dlpack(&m, true, false, &v));
  CHECK(ortc_value_is_read_only(v) && ortc_value_get_data(v) == matrix + 1);
  void *out;
  CHECK_ERROR(ortc_value_to_dlpack(v, false, &out), INVALID_ARGUMENT, "read-only");
  CHECK_OK(ortc_value_to_dlpack(v, true, &out));
  CHECK(((dl_versioned *)out)->flags & DL_READ_ONLY);
  ortc_dlpack_release(out, true);
  ortc_value_release(v);
}

static void test_import_strided(void) {
  int64_t shape[] = {4, 3}, transposed[] = {1, 4}, backwards[] = {-3, 1}, unit_shape[] = {1, 12}, unit_strides[] = {999, 1};
  dl_versioned m = producer(shape, transposed);
  ortc_value *v;
  deleted = 0;
  CHECK_ERROR(ortc_value_from_dlpack(&m, true, false, &v), INVALID_ARGUMENT, "strided");
  CHECK_INT(deleted, 0);                                   /* a refused tensor stays the caller's */
  CHECK_OK(ortc_value_from_dlpack(&m, true, true, &v));
  CHECK_INT(deleted, 1);                                   /* a copy needs the producer no longer */
  const float *data = ortc_value_get_data(v);
  for (int i = 0; i < 12; ++i) CHECK_INT(data[i], i / 3 + i % 3 * 4);
  ortc_value_release(v);

  m = producer(shape, backwards);
  m.tensor.data = matrix + 9;
  CHECK_OK(ortc_value_from_dlpack(&m, true, true, &v));
  CHECK_INT(((float *)ortc_value_get_data(v))[0], 9);
  CHECK_INT(((float *)ortc_value_get_data(v))[11], 2);
  ortc_value_release(v);

  /* Strides of dims of one element mean nothing. */
  m = producer(unit_shape, unit_strides);
  CHECK_OK(ortc_value_from_dlpack(&m, true, false, &v));
  CHECK(ortc_value_get_data(v) == matrix);
  ortc_value_release(v);
}

static void test_import_refuses(void) {
  int64_t shape[] = {3, 4}, negative[] = {3, -4};
  ortc_value *v;
  dl_versioned m = producer(shape, NULL);
  m.version.major = 2;
  CHECK_ERROR(ortc_value_from_dlpack(&m, true, true, &v), NOT_IMPLEMENTED, "version 2.0");
  m = producer(shape, NULL);
  m.tensor.dtype.lanes = 4;
  CHECK_ERROR(ortc_value_from_dlpack(&m, true, true, &v), INVALID_ARGUMENT, "4 lanes");
  m = producer(shape, NULL);
  m.tensor.device.type = 7;
  CHECK_ERROR(ortc_value_from_dlpack(&m, true, true, &v), INVALID_ARGUMENT, "device type 7");
  m = producer(shape, NULL);
  m.tensor.data = NULL;
  CHECK_ERROR(ortc_value_from_dlpack(&m, true, true, &v), INVALID_ARGUMENT, "NULL");
  m = producer(negative, NULL);
  CHECK_ERROR(ortc_value_from_dlpack(&m, true, true, &v), INVALID_ARGUMENT, "DLPack: tensor: dim 1");
  m = producer(NULL, NULL);
  CHECK_ERROR(ortc_value_from_dlpack(&m, true, true, &v), INVALID_ARGUMENT, "shape");
  CHECK_ERROR(ortc_value_from_dlpack(NULL, true, true, &v), INVALID_ARGUMENT, "'managed'");
  m = producer(shape, (int64_t[]){1, 3});
  m.tensor.device.type = 2;
  CHECK_ERROR(ortc_value_from_dlpack(&m, true, true, &v), INVALID_ARGUMENT, "contiguous");
  CHECK(v == NULL);
}

/* Elements of less than a byte that come a byte each are packed. */
static void test_import_padded(void) {
  static const struct { uint8_t code, bits; unsigned char packed[4]; } cases[] = {
    {0, 4, {0x21, 0x43, 0x05}}, {1, 2, {0x39, 0x01}}, {15, 6, {0x81, 0x30, 0x10, 0x05}}};   /* codes 1 2 3 4 5, cut to the bits there are */
  unsigned char codes[] = {0xf1, 0xf2, 0xf3, 0xf4, 0xf5};
  for (int i = 0; i < 3; ++i) {
    int64_t shape[] = {5};
    dl_versioned m = {.version = {1, 1}, .deleter = delete_versioned, .flags = DL_SUBBYTE_PADDED};
    m.tensor = (dl_tensor){.data = codes, .device = {1, 0}, .rank = 1, .dtype = {cases[i].code, cases[i].bits, 1}, .shape = shape};
    for (int c = 0; c < 5; ++c) codes[c] = (unsigned char)(0xc0 | (c + 1));
    ortc_value *v;
    CHECK_ERROR(ortc_value_from_dlpack(&m, true, false, &v), INVALID_ARGUMENT, "a byte each");
    CHECK_OK(ortc_value_from_dlpack(&m, true, true, &v));
    CHECK(memcmp(ortc_value_get_data(v), cases[i].packed, ortc_value_get_bytes(v)) == 0);
    ortc_value_release(v);
  }
}

static void test_round_trip(void) {
  for (int type = 1; type < ORTC_ELEMENT_TYPE_COUNT; ++type) {
    for (int versioned = 0; versioned < 2; ++versioned) {
      ortc_value *v, *back;
      void *managed;
      CHECK_OK(ortc_value_create_tensor(NULL, (ortc_element_type)type, 3, (int64_t[]){2, 3, 4}, &v));
      ortc_status *s = ortc_value_to_dlpack(v, versioned, &managed);
      if (type == ORTC_STRING) {
        CHECK_ERROR(s, INVALID_ARGUMENT, "string");
        ortc_value_release(v);
        continue;
      }
      CHECK_OK(s);
      const dl_tensor *t = versioned ? &((dl_versioned *)managed)->tensor : &((dl_managed *)managed)->tensor;
      CHECK(t->rank == 3 && t->shape[2] == 4 && t->strides[0] == 12 && t->strides[2] == 1 && t->device.type == 1);
      CHECK_INT(t->dtype.bits, ortc_element_type_bits((ortc_element_type)type));
      void *data = ortc_value_get_data(v);
      ortc_value_release(v);                               /* the export alone keeps the memory alive */
      CHECK_OK(ortc_value_from_dlpack(managed, versioned, false, &back));
      CHECK_INT(ortc_value_get_element_type(back), type);
      CHECK(ortc_value_get_data(back) == data);
      memset(data, 1, ortc_value_get_bytes(back));
      ortc_value_release(back);
    }
  }
}

static void test_faults(void) {
  int64_t shape[] = {4, 3}, strides[] = {1, 4}, failures = 0;
  for (int copy = 0; copy < 2; ++copy) {
    for (uint64_t n = 1; n < 20; ++n) {
      dl_versioned m = producer(shape, copy ? strides : NULL);
      ortc_value *v;
      void *out;
      deleted = 0;
      ortc_allocator_inject_failure(n);
      ortc_status *s = ortc_value_from_dlpack(&m, true, true, &v);
      CHECK_INT(deleted, !s && copy);
      bool imported = !s;
      if (!s) s = ortc_value_to_dlpack(v, true, &out);
      if (!s) ortc_dlpack_release(out, true);
      ortc_allocator_inject_failure(0);
      ortc_value_release(v);
      CHECK_INT(deleted, imported);
      if (s) ++failures, CHECK_ERROR(s, OUT_OF_MEMORY, "");
    }
  }
  CHECK(failures >= 5);
}

int main(void) {
  RUN(test_import_shares);
  RUN(test_import_strided);
  RUN(test_import_refuses);
  RUN(test_import_padded);
  RUN(test_round_trip);
  RUN(test_faults);
  return check_result();
}
