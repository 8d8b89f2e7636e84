/* Files of external data, which never leaves its folder. */
#include <ortcore/base/checked.h>
#include <ortcore/ir/grow.h>
#include <ortcore/onnx/file.h>
#include <ortcore/onnx/reader.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* The folder that the model's path names; and, when that path is a symbolic link, as in caches of downloads, the folder where the model really
 * lies, since its data lie beside it there. */
static status resolve_folders(reader *r) {
  char resolved[PATH_MAX];
  if (r->folders[0]) return OK;
  if (!realpath(r->folder_given, resolved)) return ERROR(FAIL, "the folder of external data, '%s', cannot be resolved: %s", r->folder_given, strerror(errno));
  char *folder = zone_strdup(r->m->memory, resolved);
  if (!folder) return status_out_of_memory();
  if (r->path && realpath(r->path, resolved)) {
    *strrchr(resolved, '/') = 0;
    if (!(r->folders[1] = zone_strdup(r->m->memory, resolved))) return status_out_of_memory();
  }
  r->folders[0] = folder;
  return OK;
}

static bool lies_in(const char *path, const char *folder) {
  size_t n = strlen(folder);
  while (n && folder[n - 1] == '/') --n;                     /* the root folder */
  return !strncmp(path, folder, n) && path[n] == '/';
}

/* The file's real path, symbolic links followed, must lie below the model's folder. */
static status resolve(reader *r, const char *location, char out[PATH_MAX]) {
  struct stat info;
  if (location[0] == '/') return ERROR(FAIL, "external data location '%s' is an absolute path; it must be relative to the model's folder", location);
  TRY(resolve_folders(r));
  char *joined = zone_printf(r->m->memory, "%s/%s", r->folders[0], location);
  if (!joined) return status_out_of_memory();
  if (!realpath(joined, out)) return ERROR(FAIL, "external data file '%s' cannot be found in '%s': %s", location, r->folders[0], strerror(errno));
  if (!lies_in(out, r->folders[0]) && !(r->folders[1] && lies_in(out, r->folders[1])))
    return ERROR(FAIL, "external data location '%s' leads out of the model's folder '%s', which is not allowed", location, r->folders[0]);
  if (stat(out, &info) || !S_ISREG(info.st_mode)) return ERROR(FAIL, "external data location '%s' is not a regular file", location);
  return OK;
}

static status remember(reader *r, const char *location, buffer *data) {
  if (!zone_grow(r->m->memory, &r->mapped, r->mapped_count, &r->mapped_capacity, sizeof *r->mapped)) return status_out_of_memory();
  r->mapped[r->mapped_count++] = (read_file){location, data};
  return OK;
}

static status find_file(reader *r, const char *location, buffer **out) {
  for (int32_t i = 0; i < r->options->file_count; ++i) {
    if (strcmp(r->options->files[i].name, location)) continue;
    *out = r->options->files[i].data;
    TRY(remember(r, location, *out));
    return model_hold_buffer(r->m, buffer_retain(*out));
  }
  char path[PATH_MAX];
  TRY(resolve(r, location, path));
  TRY(file_open(path, !r->options->read_whole, out));
  TRY(model_hold_buffer(r->m, *out));
  return remember(r, location, *out);
}

status external_data(reader *r, const char *location, int64_t offset, int64_t length, const char **out_data, size_t *out_bytes, buffer **out_memory) {
  buffer *file = NULL;
  for (int32_t i = 0; i < r->mapped_count && !file; ++i)
    if (!strcmp(r->mapped[i].name, location)) file = r->mapped[i].data;
  if (!file) TRY(find_file(r, location, &file));
  int64_t end;
  if (offset < 0 || length < 0 || checked_add(offset, length, &end) || (uint64_t)end > file->bytes)
    return ERROR(FAIL, "external data file '%s' has %zu bytes, but %lld bytes from offset %lld are asked for", location, file->bytes, (long long)length, (long long)offset);
  *out_data = (const char *)file->data + offset;
  *out_bytes = (size_t)length;
  *out_memory = file;
  return OK;
}
