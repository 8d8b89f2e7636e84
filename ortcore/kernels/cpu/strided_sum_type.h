/* One pair of types: IN, OUT, ACC, LD, ST and NAME defined by the includer. */
static void NAME(loop)(const strided_loop *l, const void *in, void *out) {
  int64_t at[STRIDED_DIMS] = {0}, inner[STRIDED_DIMS] = {0}, count = dims_product(l->kept_dims, 0, l->kept),
      terms = dims_product(l->summed_dims, 0, l->summed);
  const IN *x = in;
  for (int64_t i = 0; i < count; ++i) {
    ACC sum = 0;
    const IN *term = x;
    for (int64_t j = 0; j < terms; ++j) {
      sum += LD(*term);
      for (int d = l->summed - 1; d >= 0; --d) {
        term += l->summed_strides[d];
        if (++inner[d] < l->summed_dims[d]) break;
        term -= l->summed_strides[d] * inner[d];
        inner[d] = 0;
      }
    }
    ((OUT *)out)[i] = ST(sum);
    for (int d = l->kept - 1; d >= 0; --d) {
      x += l->kept_strides[d];
      if (++at[d] < l->kept_dims[d]) break;
      x -= l->kept_strides[d] * at[d];
      at[d] = 0;
    }
  }
}

#undef IN
#undef OUT
#undef ACC
#undef LD
#undef ST
#undef NAME
