#include "server/store/wal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "engine/files/disk_wait.h"
#include "engine/files/durable_file.h"
#include "engine/files/mapping.h"
#include "engine/files/path.h"
#include "server/process/data_dir.h"
#include "server/process/log.h"

enum { HEADER_BYTES = 32, FRAME_HEADER_BYTES = 24, PAGE_BYTES_LEAST = 512 };
#define MAGIC UINT32_C(0x377f0682) /* and 1: words of sums are big-endian */

typedef struct {
  uint32_t first, second;
} sums;

static uint32_t word_read(const uint8_t *at, bool big_endian) {
  return big_endian ? (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3]
                    : (uint32_t)at[3] << 24 | (uint32_t)at[2] << 16 | (uint32_t)at[1] << 8 | at[0];
}

/* count: a multiple of 8. */
static void sums_add(sums *sum, const uint8_t *bytes, size_t count, bool big_endian) {
  for (size_t at = 0; at < count; at += 8) {
    sum->first += word_read(bytes + at, big_endian) + sum->second;
    sum->second += word_read(bytes + at + 4, big_endian) + sum->first;
  }
}

static bool sums_are(const sums *sum, const uint8_t *stored) {
  return word_read(stored, true) == sum->first && word_read(stored + 4, true) == sum->second;
}

static void frame_add(sums *sum, const uint8_t *frame, size_t page, bool big_endian) {
  sums_add(sum, frame, 8, big_endian);
  sums_add(sum, frame + FRAME_HEADER_BYTES, page, big_endian);
}

/* The frames that the index beside the log has as committed; 0 of an index that is torn, or of
 * another log. */
static int64_t frames_committed(const uint8_t *bytes, const uint8_t *index, size_t index_size) {
  enum { INDEX_BYTES = 48, FRAMES_AT = 16, SALTS_AT = 32, SUMS_AT = 40 };
  sums sum = {0}, stored;
  uint32_t frames;
  if (index_size < INDEX_BYTES || memcmp(index + SALTS_AT, bytes + 16, 8) != 0) return 0;
  /* of this process's byte order, as SQLite maps it */
  sums_add(&sum, index, SUMS_AT, __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__);
  memcpy(&stored, index + SUMS_AT, sizeof stored);
  memcpy(&frames, index + FRAMES_AT, sizeof frames);
  return sum.first == stored.first && sum.second == stored.second ? frames : 0;
}

int64_t ep_store_wal_lost(const uint8_t *bytes, size_t size, const uint8_t *index,
                          size_t index_size) {
  if (size < HEADER_BYTES) return 0;
  sums sum = {0};
  uint32_t magic = word_read(bytes, true);
  bool big_endian = magic & 1;
  sums_add(&sum, bytes, HEADER_BYTES - 8, big_endian);
  size_t page = word_read(bytes + 8, true);
  bool known = (magic & ~UINT32_C(1)) == MAGIC && sums_are(&sum, bytes + HEADER_BYTES - 8) &&
               page >= PAGE_BYTES_LEAST;
  if (!known) return size > HEADER_BYTES ? 1 : 0; /* at least: all that the log has */
  size_t frame_bytes = FRAME_HEADER_BYTES + page;
  int64_t committed = frames_committed(bytes, index, index_size), frames = 0, read_ = 0;
  sums stored = sum; /* of the frame before; a damaged one has either these or its page right */
  for (size_t at = HEADER_BYTES; at + frame_bytes <= size; at += frame_bytes) {
    const uint8_t *frame = bytes + at;
    bool belongs = memcmp(frame + 8, bytes + 16, 8) == 0; /* the salts */
    frame_add(&sum, frame, page, big_endian);
    frame_add(&stored, frame, page, big_endian);
    bool right = belongs && (sums_are(&sum, frame + 16) || sums_are(&stored, frame + 16));
    bool commits = word_read(frame + 4, true) != 0;
    stored = (sums){word_read(frame + 16, true), word_read(frame + 20, true)};
    if (right) sum = stored;
    if (right && read_ == frames) read_++;
    frames++;
    if (right && commits && frames > committed) committed = frames;
  }
  return committed > read_ ? committed - read_ : 0;
}

static void copy_keep(const char *log, const ep_mapping *bytes) {
  char copy[EP_PATH_BYTES];
  ep_error error = {0};
  if (snprintf(copy, sizeof copy, "%s.damaged", log) >= (int)sizeof copy ||
      ep_data_dir_write_file(copy, (const char *)bytes->bytes, bytes->size, &error) != EP_OK)
    ep_log(EP_LOG_ERROR, "a copy of the store's log could not be kept: %s", error.message);
}

void ep_store_wal_check(const char *path) {
  char log[EP_PATH_BYTES], index_path[EP_PATH_BYTES];
  ep_mapping mapping, index;
  if (snprintf(log, sizeof log, "%s-wal", path) >= (int)sizeof log ||
      snprintf(index_path, sizeof index_path, "%s-shm", path) >= (int)sizeof index_path)
    return;
  if (ep_mapping_open(log, &mapping, NULL) != EP_OK) return;
  (void)ep_mapping_open(index_path, &index, NULL); /* empty if it fails */
  int64_t lost = ep_store_wal_lost(mapping.bytes, mapping.size, index.bytes, index.size);
  if (lost > 0) {
    ep_log(
        EP_LOG_ERROR,
        "the store's write-ahead log is damaged, or was cut by a power failure: %lld pages of it "
        "or more cannot be read, and what was stored last may be missing; %s.damaged is a copy",
        (long long)lost, log);
    copy_keep(log, &mapping);
  }
  ep_mapping_close(&index);
  ep_mapping_close(&mapping);
}

ep_status ep_store_wal_secure(const char *path, const char *folder, ep_error *error) {
  char log[EP_PATH_BYTES];
  if (snprintf(log, sizeof log, "%s-wal", path) >= (int)sizeof log)
    return ep_fail(error, EP_IO, "the path of the store is too long");
  int file = open(log, O_RDWR | O_CLOEXEC);
  if (file < 0 && errno == ENOENT) return EP_OK;
  if (file < 0) return ep_fail(error, EP_IO, "%s cannot be opened: %s", log, strerror(errno));
  ep_disk_wait waits[] = {{file, log}, {-1, folder}};
  ep_status status = ep_file_rewrite(file, error);
  if (status == EP_OK) status = ep_disk_waits(waits, 2, error);
  close(file);
  return status;
}
