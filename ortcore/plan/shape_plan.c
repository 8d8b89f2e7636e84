#include <ortcore/plan/shape_build.h>
#include <ortcore/plan/shape_plan.h>
#include <stdlib.h>
#include <string.h>

/* A feed's part of the key: rank (-1 for what is no tensor), then dims. */
static bool key_matches(const int64_t *key, int32_t key_count, int32_t feed_count, const tensor *const *feeds) {
  int32_t at = 0;
  for (int32_t i = 0; i < feed_count; ++i) {
    const tensor *t = feeds[i];
    int32_t rank = t ? t->rank : 0;
    if (at + 1 + rank > key_count || key[at] != (t ? rank : -1)) return false;
    for (int32_t d = 0; d < rank; ++d)
      if (key[at + 1 + d] != t->dims[d]) return false;
    at += 1 + rank;
  }
  return at == key_count;
}

bool shape_plan_matches(const shape_plan *sp, int32_t feed_count, const tensor *const *feeds) {
  return sp->generic || key_matches(sp->key, sp->key_count, feed_count, feeds);
}

static status set_key(shape_plan *sp, int32_t feed_count, const tensor *const *feeds) {
  int32_t count = feed_count;
  for (int32_t i = 0; i < feed_count; ++i) count += feeds[i] ? feeds[i]->rank : 0;
  sp->key = ZONE_ARRAY(sp->memory, count + 1, int64_t);
  if (!sp->key) return status_out_of_memory();
  for (int32_t i = 0; i < feed_count; ++i) {
    const tensor *t = feeds[i];
    sp->key[sp->key_count++] = t ? t->rank : -1;
    for (int32_t d = 0; t && d < t->rank; ++d) sp->key[sp->key_count++] = t->dims[d];
  }
  return OK;
}

static status make(plan *p, bool generic, int32_t feed_count, const tensor *const *feeds, shape_plan **out) {
  *out = NULL;
  zone *memory = zone_create();
  shape_plan *sp = memory ? ZONE_NEW(memory, shape_plan) : NULL;
  if (!sp) {
    zone_release(memory);
    return status_out_of_memory();
  }
  sp->references = 1;
  sp->owner = p;
  sp->memory = memory;
  sp->generic = generic;
  status s = generic ? OK : set_key(sp, feed_count, feeds);
  if (!s) s = shape_build(sp, feed_count, feeds);
  if (s) {
    shape_plan_release(sp);
    return s;
  }
  *out = sp;
  return OK;
}

#define CACHE_SIZE ((int)(sizeof ((plan *)0)->cache / sizeof(shape_plan *)))

/* Moves the entry that matches to the front and retains it; NULL if there is none. The lock is held. */
static shape_plan *cache_lookup(plan *p, int32_t feed_count, const tensor *const *feeds) {
  for (int i = 0; i < CACHE_SIZE && p->cache[i]; ++i) {
    shape_plan *sp = p->cache[i];
    if (!key_matches(sp->key, sp->key_count, feed_count, feeds)) continue;
    memmove(p->cache + 1, p->cache, (size_t)i * sizeof *p->cache);
    p->cache[0] = sp;
    return shape_plan_retain(sp);
  }
  return NULL;
}

status shape_plan_find(plan *p, int32_t feed_count, const tensor *const *feeds, shape_plan **out) {
  pthread_mutex_lock(&p->lock);
  *out = cache_lookup(p, feed_count, feeds);
  pthread_mutex_unlock(&p->lock);
  if (*out) return OK;

  /* Made outside the lock: another thread may make the same one, and the first to publish wins. */
  shape_plan *made, *dropped = NULL;
  TRY(make(p, false, feed_count, feeds, &made));
  pthread_mutex_lock(&p->lock);
  *out = cache_lookup(p, feed_count, feeds);
  if (!*out) {
    dropped = p->cache[CACHE_SIZE - 1];
    memmove(p->cache + 1, p->cache, (CACHE_SIZE - 1) * sizeof *p->cache);
    p->cache[0] = shape_plan_retain(made);
    *out = made;
    made = NULL;
  }
  pthread_mutex_unlock(&p->lock);
  shape_plan_release(made);
  shape_plan_release(dropped);
  return OK;
}

status shape_plan_generic(plan *p, shape_plan **out) {
  pthread_mutex_lock(&p->lock);
  status s = p->generic ? OK : make(p, true, 0, NULL, &p->generic);
  *out = s ? NULL : shape_plan_retain(p->generic);
  pthread_mutex_unlock(&p->lock);
  return s;
}

shape_plan *shape_plan_retain(shape_plan *sp) {
  if (sp) ++sp->references;
  return sp;
}

void shape_plan_release(shape_plan *sp) {
  if (!sp || --sp->references) return;
  const plan *p = sp->owner;
  for (int32_t i = 0; sp->steps && i < p->step_count; ++i)
    step_dispose_spec(&p->steps[i], sp->steps[i].spec);
  for (int32_t i = 0; i < sp->value_count; ++i) ort_value_release(sp->values[i]);
  zone_release(sp->memory);
}
