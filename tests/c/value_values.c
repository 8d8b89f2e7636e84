/* Values of every kind through the C API: creation, checks, sharing, copies, the owner's release exactly once, allocation faults. */
#include "check.h"

#include <ortcore/value/ort_value.h>
#include <stdatomic.h>

static ortc_value *tensor_of(ortc_element_type type, size_t rank, const int64_t *dims) {
  ortc_value *v = NULL;
  CHECK_OK(ortc_value_create_tensor(NULL, type, rank, dims, &v));
  return v;
}

static ortc_value *int64s(size_t count, const int64_t *data) {
  int64_t dims[] = {(int64_t)count};
  ortc_value *v = tensor_of(ORTC_INT64, 1, dims);
  if (count) memcpy(ortc_value_get_data(v), data, count * sizeof *data);
  return v;
}

static void check_type(const ortc_value *v, const char *expected) {
  char text[64];
  CHECK_INT(ortc_value_format_type(v, text, sizeof text), strlen(expected));
  CHECK_TEXT(text, expected);
}

static void test_tensor(void) {
  for (int type = 1; type < ORTC_ELEMENT_TYPE_COUNT; ++type) {
    ortc_value *v = tensor_of((ortc_element_type)type, 2, (int64_t[]){3, 5});
    CHECK_INT(ortc_value_get_kind(v), ORTC_VALUE_TENSOR);
    CHECK_INT(ortc_value_get_element_type(v), type);
    CHECK_INT(ortc_value_get_rank(v), 2);
    CHECK_INT(ortc_value_get_dims(v)[1], 5);
    CHECK_INT(ortc_value_get_count(v), 15);
    CHECK_INT(ortc_value_get_bytes(v), (15 * ortc_element_type_bits((ortc_element_type)type) + 7) / 8);
    CHECK((ortc_value_get_data(v) == NULL) == (type == ORTC_STRING));
    ortc_value_release(v);
  }
  ortc_value *scalar = tensor_of(ORTC_FLOAT, 0, NULL), *empty = tensor_of(ORTC_FLOAT, 2, (int64_t[]){0, 7});
  CHECK_INT(ortc_value_get_count(scalar), 1);
  CHECK_INT(ortc_value_get_count(empty), 0);
  CHECK(ortc_value_get_data(empty) == NULL);
  check_type(scalar, "tensor(float)");
  ortc_value_release(scalar);
  ortc_value_release(empty);
}

static void test_bad_tensors(void) {
  ortc_value *v;
  int64_t many[40] = {0}, huge[] = {(int64_t)1 << 40, (int64_t)1 << 40};
  CHECK_ERROR(ortc_value_create_tensor(NULL, ORTC_FLOAT, 1, NULL, &v), INVALID_ARGUMENT, "'dims'");
  CHECK_ERROR(ortc_value_create_tensor(NULL, ORTC_FLOAT, 1, (int64_t[]){-1}, &v), INVALID_ARGUMENT, "-1");
  CHECK_ERROR(ortc_value_create_tensor(NULL, (ortc_element_type)77, 0, NULL, &v), INVALID_ARGUMENT, "77");
  CHECK_ERROR(ortc_value_create_tensor(NULL, ORTC_FLOAT, 40, many, &v), INVALID_ARGUMENT, "rank");
  CHECK_ERROR(ortc_value_create_tensor(NULL, ORTC_FLOAT, SIZE_MAX, many, &v), INVALID_ARGUMENT, "rank");
  CHECK_ERROR(ortc_value_create_tensor(NULL, ORTC_FLOAT, 2, huge, &v), INVALID_ARGUMENT, "1099511627776");
  CHECK_ERROR(ortc_value_create_tensor(NULL, ORTC_DOUBLE, 1, (int64_t[]){(int64_t)1 << 61}, &v), INVALID_ARGUMENT, "larger");
  CHECK_ERROR(ortc_value_create_tensor(NULL, ORTC_DOUBLE, 1, (int64_t[]){(int64_t)1 << 58}, &v), OUT_OF_MEMORY, "");
  CHECK(v == NULL);
  CHECK_ERROR(ortc_value_create_tensor(NULL, ORTC_FLOAT, 0, NULL, NULL), INVALID_ARGUMENT, "'out_value'");
  /* Zeros do not hide an overflow. */
  CHECK_ERROR(ortc_value_create_tensor(NULL, ORTC_FLOAT, 3, (int64_t[]){0, huge[0], huge[0]}, &v), INVALID_ARGUMENT, "larger");
}

static void test_dims_text(void) {
  char text[DIMS_TEXT], small[8];
  CHECK_TEXT(dims_format(text, sizeof text, 3, (int64_t[]){2, -1, 40}), "[2,?,40]");
  CHECK_TEXT(dims_format(text, sizeof text, 0, NULL), "[]");
  CHECK_TEXT(dims_format(text, sizeof text, -1, NULL), "[...]");
  CHECK_TEXT(dims_format(small, sizeof small, 3, (int64_t[]){100, 200, 300}), "[100...");
  CHECK_TEXT(dims_format(small, sizeof small, 2, (int64_t[]){100, 20}), "[100...");
  CHECK_TEXT(dims_format(small, sizeof small, 2, (int64_t[]){10, 20}), "[10,20]");
  int64_t longest[MAX_RANK];
  for (int i = 0; i < MAX_RANK; ++i) longest[i] = INT64_MAX;
  CHECK_INT(strlen(dims_format(text, sizeof text, MAX_RANK, longest)), DIMS_TEXT - 1);
}

static void count_release(void *user) { atomic_fetch_add((_Atomic int *)user, 1); }

static void test_borrowed(void) {
  _Atomic int released = 0;
  float data[12];
  ortc_value *v, *other, *sequence;
  int64_t dims[] = {3, 4};
  CHECK_ERROR(ortc_value_create_borrowed(NULL, ORTC_FLOAT, 2, dims, data, sizeof data - 1, count_release, &released, &v), INVALID_ARGUMENT, "needs 48 bytes, but the memory given has 47");
  CHECK_ERROR(ortc_value_create_borrowed(NULL, ORTC_FLOAT, 2, dims, NULL, sizeof data, count_release, &released, &v), INVALID_ARGUMENT, "NULL");
  CHECK_ERROR(ortc_value_create_borrowed(NULL, ORTC_STRING, 2, dims, data, 4096, count_release, &released, &v), INVALID_ARGUMENT, "strings");
  CHECK_INT(released, 0);

  CHECK_OK(ortc_value_create_borrowed(NULL, ORTC_FLOAT, 2, dims, data, sizeof data, count_release, &released, &v));
  CHECK(ortc_value_get_data(v) == data);
  CHECK_OK(ortc_value_reshape(v, 1, (int64_t[]){12}, &other));
  CHECK(ortc_value_get_data(other) == data);
  CHECK_OK(ortc_value_create_sequence(ORTC_FLOAT, 2, (ortc_value *[]){v, other}, &sequence));
  ortc_value_release(v);
  ortc_value_release(other);
  CHECK_INT(released, 0);
  CHECK_OK(ortc_value_get_item(sequence, 1, &other));
  ortc_value_release(sequence);
  CHECK_INT(released, 0);
  ortc_value_release(other);
  CHECK_INT(released, 1);

  CHECK_OK(ortc_value_create_borrowed(NULL, ORTC_FLOAT, 1, (int64_t[]){0}, NULL, 0, count_release, &released, &v));
  CHECK_ERROR(ortc_value_reshape(v, 1, (int64_t[]){1}, &other), INVALID_ARGUMENT, "[1] has 1 elements");
  ortc_value_release(v);
  CHECK_INT(released, 2);
}

static void test_copies(void) {
  ortc_value *a = int64s(4, (int64_t[]){1, 2, 3, 4}), *b, *c = tensor_of(ORTC_INT64, 2, (int64_t[]){2, 2}), *f = tensor_of(ORTC_DOUBLE, 1, (int64_t[]){4});
  CHECK_OK(ortc_value_clone(a, &b));
  ((int64_t *)ortc_value_get_data(a))[0] = 9;
  CHECK_INT(((int64_t *)ortc_value_get_data(b))[0], 1);
  CHECK_OK(ortc_value_copy_into(b, c));
  CHECK_INT(((int64_t *)ortc_value_get_data(c))[3], 4);
  CHECK_ERROR(ortc_value_copy_into(f, c), INVALID_ARGUMENT, "double");
  CHECK_ERROR(ortc_value_copy_into(b, NULL), INVALID_ARGUMENT, "'destination'");
  CHECK_ERROR(ortc_value_copy_into(b, ortc_value_create_none()), INVALID_ARGUMENT, "empty optional");
  CHECK(!ortc_value_is_read_only(c));
  ortc_value_set_read_only(c);
  CHECK(ortc_value_is_read_only(c));
  CHECK_ERROR(ortc_value_copy_into(b, c), INVALID_ARGUMENT, "read-only");
  ortc_value_release(b);
  CHECK_OK(ortc_value_clone(c, &b));
  CHECK(!ortc_value_is_read_only(b));
  ortc_value_release(a);
  ortc_value_release(b);
  ortc_value_release(c);
  ortc_value_release(f);
}

static void test_strings(void) {
  ortc_value *v = tensor_of(ORTC_STRING, 1, (int64_t[]){3}), *copy;
  const char *text;
  size_t bytes;
  CHECK_OK(ortc_value_get_string(v, 2, &text, &bytes));
  CHECK(bytes == 0 && text);
  CHECK_OK(ortc_value_set_string(v, 0, "a\0b", 3));
  CHECK_OK(ortc_value_set_string(v, 1, "first", 5));
  CHECK_OK(ortc_value_set_string(v, 1, "second", 6));
  CHECK_OK(ortc_value_set_string(v, 2, NULL, 0));
  CHECK_OK(ortc_value_clone(v, &copy));
  CHECK_OK(ortc_value_set_string(v, 0, "x", 1));
  CHECK_OK(ortc_value_get_string(copy, 0, &text, &bytes));
  CHECK(bytes == 3 && memcmp(text, "a\0b", 3) == 0);
  CHECK_OK(ortc_value_copy_into(v, copy));
  CHECK_OK(ortc_value_copy_into(copy, copy));
  CHECK_OK(ortc_value_get_string(copy, 0, &text, &bytes));
  CHECK(bytes == 1 && *text == 'x');
  CHECK_ERROR(ortc_value_get_string(v, 3, &text, &bytes), INVALID_ARGUMENT, "3 of a tensor of 3");
  CHECK_ERROR(ortc_value_set_string(v, -1, "", 0), INVALID_ARGUMENT, "-1");
  CHECK_ERROR(ortc_value_set_string(v, 0, NULL, 2), INVALID_ARGUMENT, "'data'");
  ortc_value_release(v);
  ortc_value_release(copy);
  v = tensor_of(ORTC_FLOAT, 1, (int64_t[]){3});
  CHECK_ERROR(ortc_value_set_string(v, 0, "", 0), INVALID_ARGUMENT, "tensor(float)");
  ortc_value_release(v);
}

static void test_sequences(void) {
  ortc_value *a = int64s(2, (int64_t[]){1, 2}), *f = tensor_of(ORTC_FLOAT, 0, NULL), *s, *t, *item;
  CHECK_OK(ortc_value_create_sequence(ORTC_INT64, 0, NULL, &s));
  check_type(s, "seq(tensor(int64))");
  CHECK_ERROR(ortc_value_get_item(s, 0, &item), INVALID_ARGUMENT, "item 0");
  CHECK_ERROR(ortc_value_create_sequence(ORTC_INT64, 2, (ortc_value *[]){a, f}, &t), INVALID_ARGUMENT, "item 1 has elements of type float");
  CHECK_ERROR(ortc_value_create_sequence(ORTC_INT64, 2, (ortc_value *[]){a, NULL}, &t), INVALID_ARGUMENT, "item 1 is NULL");
  CHECK_ERROR(ortc_value_create_sequence(ORTC_INT64, 1, (ortc_value *[]){s}, &t), INVALID_ARGUMENT, "a sequence");

  /* A sole reference is edited in place, a shared one is copied. */
  for (int i = 0; i < 20; ++i) CHECK_OK(ort_value_insert_item(s, i / 2, a, &s));
  CHECK_INT(ortc_value_get_count(s), 20);
  CHECK_OK(ort_value_insert_item(ort_value_retain(s), 20, a, &t));
  CHECK(t != s);
  CHECK_INT(ortc_value_get_count(s), 20);
  CHECK_INT(ortc_value_get_count(t), 21);
  CHECK_ERROR(ort_value_insert_item(ort_value_retain(t), 22, a, &item), INVALID_ARGUMENT, "position 22");
  CHECK_ERROR(ort_value_insert_item(ort_value_retain(t), 0, f, &item), INVALID_ARGUMENT, "float");
  CHECK_INT(ortc_value_get_count(t), 21);
  ortc_value_release(s);
  CHECK_OK(ortc_value_clone(t, &s));
  CHECK_OK(ortc_value_get_item(s, 20, &item));
  CHECK(item != a && ortc_value_get_count(item) == 2);
  ortc_value_release(item);
  ortc_value_release(s);
  ortc_value_release(t);
  ortc_value_release(a);
  ortc_value_release(f);
}

static void test_maps(void) {
  ortc_value *keys = int64s(2, (int64_t[]){7, 8}), *values = tensor_of(ORTC_FLOAT, 1, (int64_t[]){2}), *map, *copy, *k, *v, *s;
  CHECK_OK(ortc_value_create_map(keys, values, &map));
  check_type(map, "map(int64,tensor(float))");
  CHECK_INT(ortc_value_get_count(map), 2);
  CHECK_OK(ortc_value_clone(map, &copy));
  CHECK_OK(ortc_value_get_map(copy, &k, &v));
  CHECK_INT(((int64_t *)ortc_value_get_data(k))[1], 8);
  ortc_value_release(k);
  ortc_value_release(v);
  CHECK_OK(ortc_value_create_sequence(ORTC_UNDEFINED, 2, (ortc_value *[]){map, copy}, &s));
  check_type(s, "seq(map(int64,tensor(float)))");
  ortc_value *first = map;
  CHECK_ERROR(ortc_value_create_map(values, values, &map), INVALID_ARGUMENT, "keys are of type float");
  CHECK(map == NULL);
  ortc_value *longer = tensor_of(ORTC_FLOAT, 1, (int64_t[]){3});
  CHECK_ERROR(ortc_value_create_map(keys, longer, &map), INVALID_ARGUMENT, "[3]");
  CHECK_ERROR(ortc_value_create_map(keys, NULL, &map), INVALID_ARGUMENT, "'values'");
  CHECK_ERROR(ortc_value_get_map(keys, &k, &v), INVALID_ARGUMENT, "a tensor");
  CHECK(k == NULL && v == NULL);
  ortc_value *all[] = {s, first, copy, longer, keys, values};
  for (int i = 0; i < 6; ++i) ortc_value_release(all[i]);
}

static void test_sparse(void) {
  int64_t dims[] = {3, 4};
  ortc_value *values = tensor_of(ORTC_FLOAT, 1, (int64_t[]){2}), *linear = int64s(2, (int64_t[]){1, 11}), *outside = int64s(2, (int64_t[]){1, 12});
  ortc_value *columns = int64s(2, (int64_t[]){3, 0}), *outer = int64s(4, (int64_t[]){0, 1, 1, 2}), *falling = int64s(4, (int64_t[]){0, 2, 1, 2}), *s, *copy, *got[3];
  ortc_sparse_format format;
  CHECK_OK(ortc_value_create_sparse(ORTC_SPARSE_COO, 2, dims, values, linear, NULL, &s));
  check_type(s, "sparse_tensor(float)");
  CHECK_OK(ortc_value_clone(s, &copy));
  CHECK_OK(ortc_value_get_sparse(copy, &format, &got[0], &got[1], &got[2]));
  CHECK(format == ORTC_SPARSE_COO && got[2] == NULL && ((int64_t *)ortc_value_get_data(got[1]))[1] == 11);
  ortc_value_release(got[0]);
  ortc_value_release(got[1]);
  ortc_value_release(copy);
  ortc_value_release(s);
  CHECK_OK(ortc_value_create_sparse(ORTC_SPARSE_CSRC, 2, dims, values, columns, outer, &s));
  ortc_value_release(s);

  CHECK_ERROR(ortc_value_create_sparse(ORTC_SPARSE_COO, 2, dims, values, outside, NULL, &s), INVALID_ARGUMENT, "12");
  CHECK_ERROR(ortc_value_create_sparse(ORTC_SPARSE_COO, 2, dims, values, outer, NULL, &s), INVALID_ARGUMENT, "[4]");
  CHECK_ERROR(ortc_value_create_sparse(ORTC_SPARSE_CSRC, 2, dims, values, columns, falling, &s), INVALID_ARGUMENT, "rise");
  CHECK_ERROR(ortc_value_create_sparse(ORTC_SPARSE_CSRC, 2, dims, values, columns, NULL, &s), INVALID_ARGUMENT, "missing");
  CHECK_ERROR(ortc_value_create_sparse(ORTC_SPARSE_CSRC, 2, dims, values, outside, outer, &s), INVALID_ARGUMENT, "column 12");
  CHECK_ERROR(ortc_value_create_sparse(ORTC_SPARSE_BLOCK, 2, dims, values, columns, outer, &s), NOT_IMPLEMENTED, "block");
  CHECK_ERROR(ortc_value_create_sparse((ortc_sparse_format)9, 2, dims, values, columns, outer, &s), INVALID_ARGUMENT, "9");
  CHECK_ERROR(ortc_value_create_sparse(ORTC_SPARSE_COO, 2, dims, values, values, NULL, &s), INVALID_ARGUMENT, "float");
  ortc_value *all[] = {values, linear, outside, columns, outer, falling};
  for (int i = 0; i < 6; ++i) ortc_value_release(all[i]);
}

/* Questions about nothing have answers. */
static void test_null(void) {
  ortc_memory_info info;
  char text[8];
  CHECK_INT(ortc_value_get_kind(NULL), ORTC_VALUE_NONE);
  CHECK_INT(ortc_value_get_count(NULL), 0);
  CHECK(ortc_value_get_data(NULL) == NULL && ortc_value_get_dims(NULL) == NULL);
  ortc_value_get_memory_info(NULL, &info);
  CHECK_INT(ortc_value_format_type(NULL, text, sizeof text), 8);   /* "optional", cut */
  CHECK_TEXT(text, "optiona");
  ortc_value *n = ortc_value_create_none(), *copy;
  CHECK_OK(ortc_value_clone(n, &copy));
  ortc_value_release(n);
  ortc_value_release(copy);
  ortc_value_release(NULL);
}

/* Everything above once more while the n-th allocation fails, for every n that there is: a clean error, nothing leaked (the sanitizer's
 * builds tell), the borrowed memory released exactly once if it was ever taken over. */
static ortc_status *build_everything(_Atomic int *taken, _Atomic int *released, ortc_value **out) {
  static float data[4];
  ortc_value *a = NULL, *b = NULL, *strings = NULL, *sequence = NULL, *copy = NULL, *map = NULL;
  ortc_status *s = ortc_value_create_borrowed(NULL, ORTC_FLOAT, 1, (int64_t[]){4}, data, sizeof data, count_release, released, &a);
  if (!s) ++*taken;
  if (!s) s = ortc_value_clone(a, &b);
  if (!s) s = ortc_value_create_tensor(NULL, ORTC_STRING, 1, (int64_t[]){4}, &strings);
  if (!s) s = ortc_value_set_string(strings, 1, "text", 4);
  if (!s) s = ortc_value_create_map(strings, a, &map);
  if (!s) s = ortc_value_create_sequence(ORTC_FLOAT, 2, (ortc_value *[]){a, b}, &sequence);
  if (!s) {
    ortc_value *longer = NULL;
    s = ort_value_insert_item(sequence, 0, b, &longer);    /* consumes the sequence in any case */
    sequence = longer;
  }
  if (!s) s = ortc_value_clone(map, &copy);
  if (!s) s = ortc_value_clone(sequence, out);
  ortc_value_release(a);
  ortc_value_release(b);
  ortc_value_release(strings);
  ortc_value_release(map);
  ortc_value_release(sequence);
  ortc_value_release(copy);
  return s;
}

static void test_faults(void) {
  _Atomic int taken = 0, released = 0;
  int failures = 0;
  for (uint64_t n = 1;; ++n) {
    ortc_value *v = NULL;
    ortc_allocator_inject_failure(n);
    ortc_status *s = build_everything(&taken, &released, &v);
    ortc_allocator_inject_failure(0);
    CHECK_INT(released, taken);
    CHECK((s == NULL) == (v != NULL));
    ortc_value_release(v);
    if (!s) break;
    CHECK_ERROR(s, OUT_OF_MEMORY, "");
    ++failures;
  }
  CHECKF(failures > 20, "%d", failures);
}

int main(void) {
  RUN(test_tensor);
  RUN(test_bad_tensors);
  RUN(test_dims_text);
  RUN(test_borrowed);
  RUN(test_copies);
  RUN(test_strings);
  RUN(test_sequences);
  RUN(test_maps);
  RUN(test_sparse);
  RUN(test_null);
  RUN(test_faults);
  return check_result();
}
