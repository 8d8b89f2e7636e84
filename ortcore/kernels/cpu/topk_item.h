/* Template: the k largest of a stream of ITEMs, all different. A heap of k with its smallest at the root admits what is larger; popping the
 * smallest to the back, again and again, leaves them in descending order. */
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

static void FN(heap_make)(ITEM *heap, int64_t n) {
  for (int64_t i = n / 2 - 1; i >= 0; --i) FN(sift_down)(heap, n, i);
}

static void FN(heap_admit)(ITEM *heap, int64_t k, const ITEM *items, int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    if (items[i] <= heap[0]) continue;
    heap[0] = items[i];
    FN(sift_down)(heap, k, 0);
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

/* The k largest of n items that `load` makes from a row, in descending order if `sorted`; heap has room for k + TOPK_CHUNK. */
static void FN(topk_row)(void (*load)(const topk_row *r, int64_t begin, int64_t end, void *items), const topk_row *r, int64_t k,
                         bool sorted, ITEM *heap) {
  load(r, 0, k, heap);
  FN(heap_make)(heap, k);
  for (int64_t begin = k, end; begin < r->n; begin = end) {
    end = begin + TOPK_CHUNK < r->n ? begin + TOPK_CHUNK : r->n;
    load(r, begin, end, heap + k);
    FN(heap_admit)(heap, k, heap + k, end - begin);
  }
  if (sorted) FN(heap_sort)(heap, k);
}

#undef FN
#undef PASTE
#undef PASTE_
