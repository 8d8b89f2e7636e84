/* The numbers of encoders, for every device. */
#include <ortcore/ops/ml_params.h>

double encoder_key(const entries *e, int64_t i) {
  if (e->ints) return (double)e->ints[i];
  if (e->floats) return (double)e->floats[i];
  return e->type == ORTC_INT16 ? ((const int16_t *)e->wide->data)[i] : feature_at(e->wide, i);
}

static double default_number(const encoder *e) {
  const tensor *given = e->default_value;
  if (given && given->count) return given->type == ORTC_INT16 ? ((const int16_t *)given->data)[0] : feature_at(given, 0);
  return e->value_type == ORTC_FLOAT || e->value_type == ORTC_DOUBLE ? (double)e->default_float : (double)e->default_int;
}

/* Integers of 64 bits do not all survive a double. */
static int64_t exact_number(const encoder *e, int64_t index) {
  if (index < 0) return e->default_value ? (int64_t)default_number(e) : e->default_int;
  return e->values.ints ? e->values.ints[index] : e->values.wide ? ((const int64_t *)e->values.wide->data)[index] : index;
}

void encoder_put_number(const encoder *e, dtype type, int64_t index, void *to) {
  if (type == ORTC_INT64) {
    *(int64_t *)to = exact_number(e, index);
    return;
  }
  double v = index < 0 ? default_number(e) : encoder_key(&e->values, index);
  switch (type) {
    case ORTC_FLOAT: *(float *)to = (float)v; break;
    case ORTC_DOUBLE: *(double *)to = v; break;
    case ORTC_INT32: *(int32_t *)to = (int32_t)v; break;
    default: *(int16_t *)to = (int16_t)v; break;
  }
}
