/* Template: the k largest of a row, in a heap of ITEMs whose smallest is at the root. An item is the CODE of an element above the complement of
 * its index, so that items are all different and of equal elements the first is the largest. Popping the smallest to the back, again and
 * again, leaves a heap in descending order. */
#define PASTE_(a, b) a##_##b
#define PASTE(a, b) PASTE_(a, b)
#define FN(name) PASTE(name, ITEM)

static void FN(sift_down)(ITEM *heap, int64_t n, int64_t at) {
  ITEM x = heap[at];
  for (int64_t child; (child = 2 * at + 1) < n; at = child) {
    child += child + 1 < n && heap[child + 1] < heap[child];
    if (heap[child] >= x) break;
    heap[at] = heap[child];
  }
  heap[at] = x;
}

static inline ITEM FN(item_make)(CODE code, int64_t index) { return (ITEM)code << CODE_BITS | (CODE)~(CODE)index; }
static inline CODE FN(item_code)(ITEM item) { return (CODE)(item >> CODE_BITS); }
static inline int64_t FN(item_index)(ITEM item) { return (int64_t)(CODE)~(CODE)item; }

/* Whether any of STEP codes is above the limit: without branches, for the vector units. */
static inline bool FN(any_above)(const CODE *codes, CODE limit) {
  CODE above = 0;
  for (int i = 0; i < TOPK_STEP; ++i) above |= codes[i] > limit;
  return above;
}

/* Elements [first, first + n) by their codes. An element equal to the root comes later than it and so is smaller. */
MULTIVERSION static void FN(heap_admit)(ITEM *heap, int64_t k, const CODE *codes, int64_t first, int64_t n) {
  for (int64_t i = 0; i < n;) {
    if (i + TOPK_STEP <= n && !FN(any_above)(codes + i, FN(item_code)(heap[0]))) {
      i += TOPK_STEP;
      continue;
    }
    for (int64_t end = i + TOPK_STEP < n ? i + TOPK_STEP : n; i < end; ++i) {
      if (codes[i] <= FN(item_code)(heap[0])) continue;
      heap[0] = FN(item_make)(codes[i], first + i);
      FN(sift_down)(heap, k, 0);
    }
  }
}

static void FN(heap_sort)(ITEM *heap, int64_t n) {
  while (--n > 0) {
    ITEM smallest = heap[0];
    heap[0] = heap[n];
    heap[n] = smallest;
    FN(sift_down)(heap, n, 0);
  }
}

/* Fills `heap` with the k largest of the row, in descending order if `sorted`. */
static void FN(topk_row)(load_fn load, const topk_row *r, int64_t k, bool sorted, ITEM *heap) {
  CODE codes[TOPK_CHUNK];
  for (int64_t first = 0, end; first < r->n; first = end) {
    bool fill = first < k;                                 /* the first k are taken as they come */
    int64_t limit = fill ? k : r->n;
    end = first + TOPK_CHUNK < limit ? first + TOPK_CHUNK : limit;
    load(r, first, end, codes);
    if (!fill) FN(heap_admit)(heap, k, codes, first, end - first);
    else for (int64_t i = first; i < end; ++i) heap[i] = FN(item_make)(codes[i - first], i);
    if (end == k)
      for (int64_t i = k / 2 - 1; i >= 0; --i) FN(sift_down)(heap, k, i);
  }
  if (sorted) FN(heap_sort)(heap, k);
}

#undef FN
#undef PASTE
#undef PASTE_
#undef ITEM
#undef CODE
#undef CODE_BITS
