/* Files in memory. Small ones are read. Large ones are mapped, so that their weights are neither copied nor read before something needs them; what
 * they hold is then the file's as it is now, not as it was: they are watched, since a run over a file that was written again would compute with a
 * mixture, and over one that was cut would end the process. */
#include <ortcore/base/mapping.h>
#include <ortcore/base/mem.h>
#include <ortcore/device/allocator.h>
#include <ortcore/onnx/file.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAPPED_FROM ((size_t)4 << 20)                        /* a run over that many weights takes far longer than a look at the file */

typedef struct mapped_file {
  void *data;
  struct stat made_of;                                      /* the file when it was mapped */
  char path[];                                              /* absolute: the program may change its directory */
} mapped_file;

static void unmap(void *user) {
  mapped_file *m = user;
  mapping_release(m->data);
  mem_free(m);
}

static status map_open(int fd, const struct stat *info, const char *path, buffer **out) {
  char absolute[PATH_MAX];
  const char *kept = realpath(path, absolute) ? absolute : path;
  mapped_file *m = mem_alloc(sizeof *m + strlen(kept) + 1);
  if (!m) return status_out_of_memory();
  m->made_of = *info;
  strcpy(m->path, kept);
  m->data = mapping_create(fd, (size_t)info->st_size);
  if (!m->data) {
    mem_free(m);
    return ERROR(FAIL, "'%s' could not be mapped: %s", path, strerror(errno));
  }
  status s = buffer_borrow(NULL, m->data, (size_t)info->st_size, unmap, m, out);
  if (s) unmap(m);
  return s;
}

static status read_open(int fd, size_t bytes, const char *path, buffer **out) {
  TRY(buffer_create(allocator_default(), bytes, out));
  for (size_t done = 0; done < bytes;) {
    ssize_t n = read(fd, (char *)(*out)->data + done, bytes - done);
    if (n < 0 && errno == EINTR) continue;
    if (n > 0) {
      done += (size_t)n;
      continue;
    }
    buffer_release(*out);
    *out = NULL;
    return n ? ERROR(FAIL, "'%s' could not be read: %s", path, strerror(errno))
             : ERROR(FAIL, "'%s' ended after %zu of %zu bytes: it was written while it was read", path, done, bytes);
  }
  return OK;
}

status file_open(const char *path, bool may_map, buffer **out) {
  *out = NULL;
  int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);   /* a FIFO would wait for a writer */
  if (fd < 0)
    return errno == ENOENT || errno == ENOTDIR ? ERROR(NO_SUCHFILE, "there is no file '%s'", path) : ERROR(FAIL, "'%s' could not be opened: %s", path, strerror(errno));
  struct stat info;
  status s;
  if (fstat(fd, &info)) s = ERROR(FAIL, "'%s' could not be read: %s", path, strerror(errno));
  else if (!S_ISREG(info.st_mode)) s = ERROR(INVALID_PROTOBUF, "'%s' is not a regular file; give the path of an ONNX model", path);
  else if (may_map && (size_t)info.st_size >= MAPPED_FROM) s = map_open(fd, &info, path, out);
  else s = read_open(fd, (size_t)info.st_size, path, out);
  close(fd);
  if (!s) (*out)->read_only = true;
  return s;
}

bool file_is_mapped(const buffer *b) { return b->release == unmap; }

static bool is_same_time(struct timespec a, struct timespec b) { return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec; }

status file_check(const buffer *b) {
  const mapped_file *m = b->user;
  struct stat now;
  /* A file that was removed, or replaced by another of its name, lives on as long as it is mapped. */
  if (stat(m->path, &now) || now.st_ino != m->made_of.st_ino || now.st_dev != m->made_of.st_dev) return OK;
  if (now.st_size == m->made_of.st_size && is_same_time(now.st_mtim, m->made_of.st_mtim)) return OK;
  return ERROR(FAIL, "the model file '%s' was written while a session uses it, which has its weights mapped, so the session cannot go on: make a new one. "
               "Put a new version in place by renaming it over the old one, or set 'map_model_files' to 0 in the session's options: files are then "
               "read as a whole when the session is made.", m->path);
}
