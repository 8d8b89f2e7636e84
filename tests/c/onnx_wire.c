/* The protobuf wire reader: every length is checked, whatever the bytes say. */
#include "check.h"

#include <ortcore/onnx/wire.h>

static void test_fields(void) {
  static const uint8_t message[] = {
    0x08, 0x96, 0x01,                                        /* 1: varint 150 */
    0x12, 0x03, 'a', 'b', 'c',                               /* 2: bytes */
    0x1d, 0x00, 0x00, 0x80, 0x3f,                            /* 3: fixed32, 1.0f */
    0x21, 1, 2, 3, 4, 5, 6, 7, 8,                            /* 4: fixed64 */
    0xfa, 0x01, 0x00,                                        /* 31: empty bytes */
  };
  wire w = wire_over(message, sizeof message);
  wire_field f;
  CHECK(wire_next(&w, &f) && f.number == 1 && f.type == WIRE_VARINT && f.scalar == 150);
  CHECK(wire_next(&w, &f) && f.number == 2 && f.type == WIRE_BYTES && f.bytes == 3 && !memcmp(f.data, "abc", 3));
  CHECK(wire_next(&w, &f) && f.number == 3 && f.type == WIRE_FIXED32 && f.scalar == 0x3f800000);
  CHECK(wire_next(&w, &f) && f.number == 4 && f.type == WIRE_FIXED64 && f.scalar == 0x0807060504030201);
  CHECK(wire_next(&w, &f) && f.number == 31 && f.type == WIRE_BYTES && f.bytes == 0);
  CHECK(!wire_next(&w, &f) && !w.bad);
}

static void test_every_truncation_is_seen(void) {
  static const uint8_t message[] = {0x08, 0x96, 0x01, 0x12, 0x03, 'a', 'b', 'c', 0x1d, 0, 0, 0x80, 0x3f, 0x21, 1, 2, 3, 4, 5, 6, 7, 8};
  static const size_t whole[] = {0, 3, 8, 13, 22};           /* lengths at which a field ends */
  for (size_t length = 0; length <= sizeof message; ++length) {
    uint8_t *copy = malloc(length + 1);                      /* of its own, so that a read beyond it is found under ASan */
    memcpy(copy, message, length);
    wire w = wire_over(copy, length);
    wire_field f;
    while (wire_next(&w, &f)) {}
    bool expected = false;
    for (size_t i = 0; i < sizeof whole / sizeof *whole; ++i) expected |= whole[i] == length;
    CHECKF(w.bad == !expected, "length %zu", length);
    free(copy);
  }
}

static bool is_bad(const uint8_t *data, size_t bytes) {
  wire w = wire_over(data, bytes);
  wire_field f;
  while (wire_next(&w, &f)) {}
  return w.bad;
}
#define BAD(...) CHECK(is_bad((const uint8_t[]){__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__})))

static void test_nonsense(void) {
  BAD(0x00, 0x01);                                           /* field 0 */
  BAD(0x0b);                                                 /* a group */
  BAD(0x0e);                                                 /* a wire type that does not exist */
  BAD(0x0a, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01);         /* a length of 2^64 - 1 */
  BAD(0x0a, 0x80, 0x80, 0x80, 0x80, 0x08, 'x');              /* a length of 2^31 */
  BAD(0x08, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01);   /* a varint of eleven bytes */
}

static void test_extremes(void) {
  static const uint8_t message[] = {0x08, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01};
  wire w = wire_over(message, sizeof message);
  wire_field f;
  CHECK(wire_next(&w, &f) && f.scalar == UINT64_MAX);
  w = wire_over(NULL, 0);
  CHECK(!wire_next(&w, &f) && !w.bad);
}

static void test_a_message_must_be_bytes(void) {
  wire_field number = {.number = 1, .type = WIRE_VARINT, .scalar = 5};
  CHECK(wire_message(&number).bad);
}

int main(void) {
  RUN(test_fields);
  RUN(test_every_truncation_is_seen);
  RUN(test_nonsense);
  RUN(test_extremes);
  RUN(test_a_message_must_be_bytes);
  return check_result();
}
