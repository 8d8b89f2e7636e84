/* Feeds a fuzz target with mutated models where libFuzzer is not at hand: fuzz_x SEEDS SECONDS [FIRST]. SEEDS is a folder of models.
 *
 * A model is taken apart into its protobuf fields, some of which are changed, doubled, dropped, swapped with those of another place or
 * replaced by interesting numbers; then it is put together again, so that lengths are right and the changes reach deep. Now and then bytes
 * are changed blindly as well. Input number n depends on n alone: FIRST repeats a run from where a report says that it failed. */
#include <dirent.h>
#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

#define MOST_BYTES ((size_t)1 << 16)
#define MOST_SEEDS 4096
#define SECONDS_PER_INPUT 20                                 /* under sanitizers; more is a hang */

typedef struct bytes { uint8_t *data; size_t count, capacity; } bytes;

static bytes seeds[MOST_SEEDS];
static int seed_count;
static uint64_t random_state;
static _Atomic uint64_t current;

static uint64_t next_random(void) {                          /* splitmix64 */
  uint64_t z = random_state += 0x9e3779b97f4a7c15u;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
  z = (z ^ z >> 27) * 0x94d049bb133111ebu;
  return z ^ z >> 31;
}
static uint64_t below(uint64_t n) { return n ? next_random() % n : 0; }

static void reserve(bytes *b, size_t count) {
  if (b->count + count <= b->capacity) return;
  b->capacity = (b->count + count) * 2 + 64;
  b->data = realloc(b->data, b->capacity);
  if (!b->data) abort();
}

static void append(bytes *b, const void *data, size_t count) {
  reserve(b, count);
  if (count) memcpy(b->data + b->count, data, count);
  b->count += count;
}

static void append_varint(bytes *b, uint64_t v) {
  do {
    uint8_t byte = (uint8_t)((v & 0x7f) | (v > 0x7f ? 0x80 : 0));
    append(b, &byte, 1);
    v >>= 7;
  } while (v);
}

/* ---- Mutating fields ------------------------------------------------------------------------------------------------------------------ */

typedef struct field { uint64_t key, value; const uint8_t *data; size_t count; } field;

static bool get_varint(const uint8_t **at, const uint8_t *end, uint64_t *out) {
  *out = 0;
  for (int shift = 0; shift < 64 && *at < end; shift += 7) {
    uint8_t byte = *(*at)++;
    *out |= (uint64_t)(byte & 0x7f) << shift;
    if (!(byte & 0x80)) return true;
  }
  return false;
}

static bool get_field(const uint8_t **at, const uint8_t *end, field *f) {
  if (*at == end || !get_varint(at, end, &f->key) || !(f->key >> 3) || f->key >> 3 > 64) return false;
  size_t left = (size_t)(end - *at);
  f->data = *at;
  f->count = 0;
  switch (f->key & 7) {
    case 0: return get_varint(at, end, &f->value);
    case 1: f->count = 8; break;
    case 5: f->count = 4; break;
    case 2:
      if (!get_varint(at, end, &f->value) || f->value > (uint64_t)(end - *at)) return false;
      f->data = *at;
      f->count = (size_t)f->value;
      *at += f->count;
      return true;
    default: return false;
  }
  if (left < f->count) return false;
  *at += f->count;
  return true;
}

static bool is_message(const uint8_t *data, size_t count) {
  const uint8_t *at = data, *end = data + count;
  field f;
  while (get_field(&at, end, &f)) {}
  return count && at == end;
}

static uint64_t interesting(uint64_t v) {
  static const uint64_t numbers[] = {0, 1, 2, 3, 7, 8, 9, 16, 17, 31, 64, 127, 128, 255, 256, 65535, 0x7fffffff, 0x80000000, 0xffffffff, 0x100000000,
                                     INT64_MAX, (uint64_t)INT64_MIN, UINT64_MAX, UINT64_MAX - 1, (uint64_t)1 << 62, (uint64_t)1 << 33};
  switch (below(4)) {
    case 0: return v + below(5) - 2;
    case 1: return below(30);
    default: return numbers[below(sizeof numbers / sizeof *numbers)];
  }
}

/* Any message-like part of any seed. */
static void append_foreign(bytes *out) {
  const bytes *s = &seeds[below((uint64_t)seed_count)];
  const uint8_t *data = s->data;
  size_t count = s->count;
  for (uint64_t depth = below(8); depth; --depth) {
    const uint8_t *at = data, *end = data + count;
    field f, chosen = {0};
    for (uint64_t seen = 0; get_field(&at, end, &f);)
      if ((f.key & 7) == 2 && f.count && below(++seen) == 0) chosen = f;
    if (!chosen.count) break;
    data = chosen.data;
    count = chosen.count;
  }
  append(out, data, count < 4096 ? count : 4096);
}

static void mutate_message(bytes *out, const uint8_t *data, size_t count, uint64_t odds, int depth);

static void mutate_payload(bytes *out, const field *f, uint64_t odds, int depth) {
  bytes inner = {0};
  if (depth < 40 && is_message(f->data, f->count)) mutate_message(&inner, f->data, f->count, odds, depth + 1);
  else append(&inner, f->data, f->count);
  if (below(odds) == 0) {
    switch (below(5)) {
      case 0: inner.count = (size_t)below(inner.count + 1); break;
      case 1: reserve(&inner, 1024); append(&inner, inner.data, inner.count < 1024 ? inner.count : 1024); break;
      case 2: inner.count = 0; append_foreign(&inner); break;
      case 3: for (size_t i = below(inner.count + 1); i < inner.count; i += 1 + below(8)) inner.data[i] = (uint8_t)next_random(); break;
      default: append_varint(&inner, interesting(f->value)); break;
    }
  }
  append_varint(out, f->key);
  append_varint(out, inner.count);
  append(out, inner.data, inner.count);
  free(inner.data);
}

static void mutate_field(bytes *out, field f, uint64_t odds, int depth) {
  if (below(odds * 4) == 0) f.key = (1 + below(25)) << 3 | (f.key & 7);
  if ((f.key & 7) == 2) {
    mutate_payload(out, &f, odds, depth);
    return;
  }
  append_varint(out, f.key);
  if ((f.key & 7) == 0) append_varint(out, below(odds) ? f.value : interesting(f.value));
  else append(out, f.data, f.count);
}

static void mutate_message(bytes *out, const uint8_t *data, size_t count, uint64_t odds, int depth) {
  const uint8_t *at = data, *end = data + count;
  field f;
  while (out->count < MOST_BYTES && get_field(&at, end, &f)) {
    uint64_t copies = below(odds * 2) ? 1 : below(4);
    while (copies--) mutate_field(out, f, odds, depth);
  }
}

static void make_input(uint64_t number, bytes *out) {
  static const uint64_t odds[] = {8, 30, 100, 300};
  random_state = number * 0x2545f4914f6cdd1du + 1;
  out->count = 0;
  const bytes *seed = &seeds[below((uint64_t)seed_count)];
  mutate_message(out, seed->data, seed->count, odds[below(4)], 0);
  if (below(6)) return;
  for (uint64_t changes = 1 + below(8); changes && out->count; --changes) out->data[below(out->count)] = (uint8_t)next_random();
  if (!below(4)) out->count = (size_t)below(out->count + 1);
}

/* ---- The run ---------------------------------------------------------------------------------------------------------------------------- */

static void read_seeds(const char *folder) {
  DIR *d = opendir(folder);
  for (struct dirent *e; d && (e = readdir(d)) && seed_count < MOST_SEEDS;) {
    char path[4096], chunk[4096];
    snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
    FILE *file = strstr(e->d_name, ".onnx") ? fopen(path, "rb") : NULL;
    if (!file) continue;
    bytes *s = &seeds[seed_count++];
    for (size_t n; (n = fread(chunk, 1, sizeof chunk, file)) > 0;) append(s, chunk, n);
    fclose(file);
  }
  if (d) closedir(d);
}

static int by_content(const void *a, const void *b) {
  const bytes *x = a, *y = b;
  if (x->count != y->count) return x->count < y->count ? -1 : 1;
  return x->count ? memcmp(x->data, y->data, x->count) : 0;
}

static void report(int signal) {
  char text[80];
  int n = snprintf(text, sizeof text, "input %" PRIu64 " %s\n", current, signal == SIGALRM ? "takes too long" : "failed");
  if (write(2, text, (size_t)n) < 0 || signal == SIGALRM) _exit(1);
}

int main(int argc, char **argv) {
  if (argc < 3) return fprintf(stderr, "usage: %s SEEDS SECONDS [FIRST]\n", argv[0]), 2;
  read_seeds(argv[1]);
  if (!seed_count) return fprintf(stderr, "no .onnx files in %s\n", argv[1]), 2;
  qsort(seeds, (size_t)seed_count, sizeof *seeds, by_content);   /* folders have no order */
  signal(SIGALRM, report);
  signal(SIGABRT, report);
  time_t end = time(NULL) + atoi(argv[2]);
  uint64_t first = argc > 3 ? strtoull(argv[3], NULL, 10) : 0;
  for (int i = 0; i < seed_count && !first; ++i) LLVMFuzzerTestOneInput(seeds[i].data, seeds[i].count);
  bytes input = {0};
  uint64_t number = first;
  for (; time(NULL) < end; ++number) {
    current = number;
    make_input(number, &input);
    alarm(SECONDS_PER_INPUT);
    LLVMFuzzerTestOneInput(input.data, input.count);
    alarm(0);
    if (argc > 4) break;                                     /* one input alone, under a debugger */
  }
  fprintf(stderr, "%d seeds, %" PRIu64 " inputs\n", seed_count, number - first);
  free(input.data);
  for (int i = 0; i < seed_count; ++i) free(seeds[i].data);
  return 0;
}
