/* How many cores this process may use: the smallest of its cpuset and of the CPU quotas of its cgroup and that cgroup's ancestors. */
#include <ortcore/base/threads.h>

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PATH_TEXT 4096

static int affinity_cores(void) {
  /* The kernel refuses a set smaller than its own; machines have more than CPU_SETSIZE cores now and then. */
  for (int cpus = CPU_SETSIZE; cpus <= 1 << 20; cpus *= 4) {
    cpu_set_t *set = CPU_ALLOC((size_t)cpus);
    if (!set) break;
    size_t bytes = CPU_ALLOC_SIZE((size_t)cpus);
    int count = sched_getaffinity(0, bytes, set) == 0 ? CPU_COUNT_S(bytes, set) : 0;
    CPU_FREE(set);
    if (count > 0) return count;
  }
  long online = sysconf(_SC_NPROCESSORS_ONLN);
  return online > 0 ? (int)online : 1;
}

/* Numbers of a one-line file; how many could be read. "max" reads as none. */
static int read_numbers(const char *directory, const char *file, long long *a, long long *b) {
  char path[PATH_TEXT + 64];
  snprintf(path, sizeof path, "%s/%s", directory, file);
  FILE *f = fopen(path, "re");
  if (!f) return 0;
  int count = fscanf(f, "%lld %lld", a, b);
  fclose(f);
  return count;
}

/* Cores that one cgroup's own quota leaves, rounded up; 0: no quota. */
static long long quota_of(const char *directory) {
  long long quota = -1, period = 0, unused;
  if (read_numbers(directory, "cpu.max", &quota, &period) != 2) {
    if (read_numbers(directory, "cpu.cfs_quota_us", &quota, &unused) < 1) return 0;
    if (read_numbers(directory, "cpu.cfs_period_us", &period, &unused) < 1) return 0;
  }
  return quota > 0 && period > 0 ? (quota + period - 1) / period : 0;
}

/* From `root`/`path` up to `root`. */
static int quota_of_ancestry(const char *root, const char *path, int cores) {
  char directory[PATH_TEXT];
  size_t root_bytes = strlen(root);
  int length = snprintf(directory, sizeof directory, "%s%s", root, path);
  if (length < 0 || (size_t)length >= sizeof directory) return cores;
  for (;;) {
    long long quota = quota_of(directory);
    if (quota > 0 && quota < cores) cores = (int)quota;
    char *slash = strrchr(directory, '/');
    if (strlen(directory) <= root_bytes || !slash) return cores;
    *slash = '\0';
  }
}

/* /proc/self/cgroup has a line for each hierarchy, "0::/path" (v2) or "4:cpu,cpuacct:/path" (v1). */
static int cgroup_cores(int cores) {
  char line[PATH_TEXT], root[PATH_TEXT];
  FILE *f = fopen("/proc/self/cgroup", "re");
  if (!f) return cores;
  while (fgets(line, sizeof line, f)) {
    line[strcspn(line, "\n")] = '\0';
    char *controllers = strchr(line, ':'), *path = controllers ? strchr(controllers + 1, ':') : NULL;
    if (!path) continue;
    *path++ = '\0';
    ++controllers;
    if (*controllers == '\0') strcpy(root, "/sys/fs/cgroup");
    else if (strcmp(controllers, "cpu") == 0 || strncmp(controllers, "cpu,", 4) == 0 || strstr(controllers, ",cpu,")) strcpy(root, "/sys/fs/cgroup/cpu");
    else continue;
    cores = quota_of_ancestry(root, path, cores);
  }
  fclose(f);
  return cores;
}

static int core_count;
static pthread_once_t count_once = PTHREAD_ONCE_INIT;
static void count_cores(void) { core_count = cgroup_cores(affinity_cores()); }

int threads_cores(void) {
  pthread_once(&count_once, count_cores);
  return core_count;
}
