#include <ortcore/onnx/wire.h>
#include <string.h>

static bool fail(wire *w) {
  w->bad = true;
  w->at = w->end;
  return false;
}

bool wire_varint(wire *w, uint64_t *out) {
  uint64_t value = 0;
  for (int shift = 0; shift < 70; shift += 7) {
    if (w->at == w->end) return fail(w);
    uint8_t byte = *w->at++;
    if (shift < 64) value |= (uint64_t)(byte & 0x7f) << shift;
    if (!(byte & 0x80)) {
      *out = value;
      return true;
    }
  }
  return fail(w);
}

bool wire_fixed32(wire *w, uint32_t *out) {
  if (w->end - w->at < 4) return fail(w);
  memcpy(out, w->at, 4);
  w->at += 4;
  return true;
}

bool wire_fixed64(wire *w, uint64_t *out) {
  if (w->end - w->at < 8) return fail(w);
  memcpy(out, w->at, 8);
  w->at += 8;
  return true;
}

bool wire_next(wire *w, wire_field *out) {
  uint64_t key, length;
  uint32_t narrow;
  if (w->bad || w->at == w->end || !wire_varint(w, &key)) return false;
  *out = (wire_field){.number = (uint32_t)(key >> 3), .type = (wire_type)(key & 7)};
  if (key >> 3 == 0 || key >> 32) return fail(w);
  switch (out->type) {
    case WIRE_VARINT: return wire_varint(w, &out->scalar);
    case WIRE_FIXED64: return wire_fixed64(w, &out->scalar);
    case WIRE_FIXED32:
      if (!wire_fixed32(w, &narrow)) return false;
      out->scalar = narrow;
      return true;
    case WIRE_BYTES:
      if (!wire_varint(w, &length) || length > (uint64_t)(w->end - w->at)) return fail(w);
      out->data = w->at;
      out->bytes = (size_t)length;
      w->at += length;
      return true;
  }
  return fail(w);                                            /* groups are not part of ONNX */
}
