/* The protobuf wire format, read in place with every length checked. A message is a range of bytes; fields are visited in file order:
 *
 *     wire_field f;
 *     for (wire w = message; wire_next(&w, &f);) if (f.number == 1) ...
 *     if (wire_failed(&w)) ...
 */
#ifndef ORTCORE_ONNX_WIRE_H
#define ORTCORE_ONNX_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct wire { const uint8_t *at, *end; bool bad; } wire;

typedef enum wire_type { WIRE_VARINT = 0, WIRE_FIXED64 = 1, WIRE_BYTES = 2, WIRE_FIXED32 = 5 } wire_type;

typedef struct wire_field {
  uint32_t number;
  wire_type type;
  uint64_t scalar;                                           /* VARINT, FIXED64, FIXED32 */
  const uint8_t *data;                                       /* BYTES */
  size_t bytes;
} wire_field;

static inline wire wire_over(const void *data, size_t bytes) { return (wire){(const uint8_t *)data, (const uint8_t *)data + bytes, false}; }
static inline wire wire_message(const wire_field *f) { return f->type == WIRE_BYTES ? wire_over(f->data, f->bytes) : (wire){NULL, NULL, true}; }
/* The next field; false at the end, or when the bytes make no sense (w->bad). */
bool wire_next(wire *w, wire_field *out);
/* One varint, for packed fields. */
bool wire_varint(wire *w, uint64_t *out);
bool wire_fixed32(wire *w, uint32_t *out);
bool wire_fixed64(wire *w, uint64_t *out);

#endif
