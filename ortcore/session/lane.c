#include <ortcore/base/log.h>
#include <ortcore/base/mem.h>
#include <ortcore/session/lane.h>
#include <string.h>

/* ---- Lanes ---------------------------------------------------------------------------------------------------------------- */

static void lane_release(lane *l) {
  if (!l) return;
  stream_release(l->work);
  allocator_release(l->memory);
  mem_free(l);
}

/* Regions that a lane takes from the session's arena are as large as what is asked for: the session's arena is the one that reserves. */
static status lane_create(lane_pool *pool, bool callers, lane **out) {
  ortc_arena_config exact = {.size = sizeof exact, .extend_strategy = ORTC_SAME_AS_REQUESTED, .initial_chunk_bytes = -1, .max_dead_bytes_per_chunk = -1,
                             .initial_growth_chunk_bytes = -1, .max_power_of_two_extend_bytes = -1};
  lane *l = MEM_NEW(lane);
  status s = l ? arena_create(pool->memory, &exact, &l->memory) : status_out_of_memory();
  if (!s && callers) s = pool->device->vtable->stream_wrap(pool->device, pool->options.user_stream, &l->work);
  else if (!s) s = stream_create(pool->device, &l->work);
  if (s) {
    lane_release(l);
    l = NULL;
  }
  *out = l;
  return s;
}

status lane_acquire(lane_pool *pool, lane **out) {
  *out = pool->callers;
  if (*out || !pool->device) return OK;
  pthread_mutex_lock(&pool->lock);
  lane *l = pool->idle;
  if (l) pool->idle = l->next;
  pthread_mutex_unlock(&pool->lock);
  *out = l;
  return l ? OK : lane_create(pool, false, out);
}

void lane_give_back(lane_pool *pool, lane *l) {
  if (!l || l == pool->callers) return;
  pthread_mutex_lock(&pool->lock);
  l->next = pool->idle;
  pool->idle = l;
  pthread_mutex_unlock(&pool->lock);
}

uint64_t lane_pool_trim(lane_pool *pool) {
  if (!pool->device) return 0;
  pthread_mutex_lock(&pool->lock);
  for (lane *l = pool->idle; l; l = l->next) ortc_allocator_shrink(l->memory);
  pthread_mutex_unlock(&pool->lock);
  if (pool->callers) ortc_allocator_shrink(pool->callers->memory);
  return ortc_allocator_shrink(pool->memory);
}

/* ---- The device ----------------------------------------------------------------------------------------------------------- */

static const provider_request *wanted_provider(const ortc_session_options *options) {
  if (!options->provider_count || strcmp(options->providers[0].name, PROVIDER_CUDA) != 0) return NULL;
  return &options->providers[0];
}

/* GPU `id` in CUDA's numbering is the device whose memory has that id. */
static const device *find_device(int64_t id) {
  ortc_memory_info info;
  ortc_status_release(memory_info_init(&info, "Cuda", ORTC_DEVICE_ALLOCATOR, (int32_t)id, ORTC_MEM_DEFAULT));
  return device_of(&info);
}

static status create_memory(lane_pool *pool) {
  const cuda_options *o = &pool->options;
  ortc_arena_config config = {.size = sizeof config, .initial_chunk_bytes = -1, .max_dead_bytes_per_chunk = -1, .initial_growth_chunk_bytes = -1,
                              .max_power_of_two_extend_bytes = -1, .max_bytes = o->memory_limit, .extend_strategy = o->extend_strategy};
  ortc_allocator *plain = allocator_retain(pool->device->vtable->allocator(pool->device));
  status s = OK;
  if (o->external.alloc) {
    allocator_release(plain);
    s = pool->device->vtable->external_allocator(pool->device, &o->external, &plain);
  }
  if (s) return s;
  s = arena_create(plain, &config, &pool->memory);
  allocator_release(plain);
  return s;
}

static status open_device(lane_pool *pool, const provider_request *request) {
  TRY(cuda_options_read(&request->options, &pool->options));
  pool->device = find_device(pool->options.device_id);
  if (!pool->device) {
    int count = pool->provider->device_count(&(const char *){NULL});
    return ERROR(INVALID_ARGUMENT, "device_id is %d, but there are %d GPUs here; the first is 0", (int)pool->options.device_id, count);
  }
  TRY(create_memory(pool));
  return pool->options.has_user_stream ? lane_create(pool, true, &pool->callers) : OK;
}

status lane_pool_init(lane_pool *pool, const ortc_session_options *options) {
  pthread_mutex_init(&pool->lock, NULL);
  const provider_request *request = wanted_provider(options);
  if (!request) return OK;
  const char *why_not;
  pool->provider = provider_cuda(&why_not);
  if (pool->provider) return status_context(open_device(pool, request), PROVIDER_CUDA);
  LOG(WARNING, "the session runs on the CPU, because CUDA is not available: %s", why_not);
  return OK;
}

void lane_pool_deinit(lane_pool *pool) {
  for (lane *l = pool->idle, *next; l; l = next) {
    next = l->next;
    lane_release(l);
  }
  lane_release(pool->callers);
  allocator_release(pool->memory);
  pthread_mutex_destroy(&pool->lock);
}
