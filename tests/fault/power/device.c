/* device.c: a plug-in of nbdkit: a disk in a file, which writes down each write and each flush.
 *
 *   nbdkit PLUG-IN image=FILE trace=FILE
 *
 * The trace has a device_record for each, in the order in which they were done, and behind that of
 * a write its bytes. A disk that loses its power has all writes before the last flush, and any
 * sectors of the later ones: disks.py makes such disks. */
#define NBDKIT_API_VERSION 2
#include <fcntl.h>
#include <nbdkit-plugin.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#define THREAD_MODEL NBDKIT_THREAD_MODEL_SERIALIZE_ALL_REQUESTS

enum { DEVICE_WRITE = 1, DEVICE_FLUSH = 2 };

typedef struct {
  uint64_t offset;
  uint32_t bytes;
  uint32_t kind;
} device_record;

static char *image_path, *trace_path; /* owned */
static uint8_t *image;                /* mapped */
static int64_t image_bytes;
static int trace = -1;

static int device_config(const char *key, const char *value) {
  char **path = strcmp(key, "image") == 0   ? &image_path
                : strcmp(key, "trace") == 0 ? &trace_path
                                            : NULL;
  if (path == NULL) {
    nbdkit_error("there is no parameter \"%s\": give image=FILE and trace=FILE", key);
    return -1;
  }
  *path = nbdkit_absolute_path(value);
  return *path != NULL ? 0 : -1;
}

static int device_get_ready(void) {
  struct stat state;
  int file = image_path != NULL ? open(image_path, O_RDWR | O_CLOEXEC) : -1;
  if (file < 0 || trace_path == NULL || fstat(file, &state) != 0) {
    nbdkit_error("image and trace are two files: %m");
    return -1;
  }
  image_bytes = state.st_size;
  image = mmap(NULL, (size_t)image_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  trace = open(trace_path, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0600);
  if (image != MAP_FAILED && trace >= 0) return 0;
  nbdkit_error("image and trace are two files: %m");
  return -1;
}

static void *device_open(int readonly) {
  (void)readonly;
  return NBDKIT_HANDLE_NOT_NEEDED;
}

static int64_t device_get_size(void *handle) {
  (void)handle;
  return image_bytes;
}

static int record_append(uint32_t kind, uint64_t offset, const void *bytes, uint32_t count) {
  device_record record = {.offset = offset, .bytes = count, .kind = kind};
  struct iovec parts[2] = {{&record, sizeof record}, {(void *)(uintptr_t)bytes, count}};
  if (writev(trace, parts, 2) == (ssize_t)(sizeof record + count)) return 0;
  nbdkit_error("the trace cannot be written: %m");
  return -1;
}

static int device_pread(void *handle, void *bytes, uint32_t count, uint64_t offset,
                        uint32_t flags) {
  (void)handle, (void)flags;
  memcpy(bytes, image + offset, count);
  return 0;
}

static int device_pwrite(void *handle, const void *bytes, uint32_t count, uint64_t offset,
                         uint32_t flags) {
  (void)handle, (void)flags;
  memcpy(image + offset, bytes, count);
  return record_append(DEVICE_WRITE, offset, bytes, count);
}

static int device_flush(void *handle, uint32_t flags) {
  (void)handle, (void)flags;
  return record_append(DEVICE_FLUSH, 0, NULL, 0);
}

static struct nbdkit_plugin plugin = {
    .name = "power",
    .config = device_config,
    .get_ready = device_get_ready,
    .open = device_open,
    .get_size = device_get_size,
    .pread = device_pread,
    .pwrite = device_pwrite,
    .flush = device_flush,
};

NBDKIT_REGISTER_PLUGIN(plugin)
