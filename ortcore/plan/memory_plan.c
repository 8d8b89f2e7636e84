#include <ortcore/base/checked.h>
#include <ortcore/base/mem.h>
#include <ortcore/device/allocator.h>
#include <ortcore/plan/memory_plan.h>
#include <stdlib.h>

static int by_size(const void *a, const void *b) {
  const lifetime *x = *(lifetime *const *)a, *y = *(lifetime *const *)b;
  if (x->bytes != y->bytes) return x->bytes < y->bytes ? 1 : -1;
  return x->first < y->first ? -1 : x->first > y->first;
}

/* The lowest gap of at least `item->bytes` among the placed items that are alive together with it. `placed` is ordered by offset. */
static size_t find_gap(lifetime *const *placed, int32_t count, const lifetime *item) {
  size_t place = 0;
  for (int32_t i = 0; i < count; ++i) {
    const lifetime *other = placed[i];
    if (other->last < item->first || other->first > item->last) continue;
    if (other->offset >= place && other->offset - place >= item->bytes) return place;
    size_t end = align_up(other->offset + other->bytes, MEMORY_ALIGNMENT);
    if (end > place) place = end;
  }
  return place;
}

status memory_plan(int32_t count, lifetime *items, size_t *out_bytes) {
  *out_bytes = 0;
  if (!count) return OK;
  lifetime **order = mem_alloc((size_t)count * 2 * sizeof *order), **placed = order ? order + count : NULL;
  if (!order) return status_out_of_memory();
  for (int32_t i = 0; i < count; ++i) order[i] = &items[i];
  qsort(order, (size_t)count, sizeof *order, by_size);
  for (int32_t i = 0; i < count; ++i) {
    lifetime *item = order[i];
    item->offset = find_gap(placed, i, item);
    size_t end;
    if (checked_add(item->offset, item->bytes, &end) || end > SIZE_MAX / 2) {
      mem_free(order);
      return ERROR(FAIL, "the activations of one run do not fit in the address space");
    }
    if (end > *out_bytes) *out_bytes = end;
    int32_t at = i;
    for (; at > 0 && placed[at - 1]->offset > item->offset; --at) placed[at] = placed[at - 1];
    placed[at] = item;
  }
  mem_free(order);
  return OK;
}
