#include "server/audit/audit.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/hash/sha256.h"
#include "api/json/writer.h"
#include "api/limits.h"
#include "engine/files/durable_file.h"
#include "engine/files/path.h"
#include "server/process/clock.h"
#include "server/process/log.h"

#define PREVIOUS_KEY "\"previous\":\"" /* the last member of a line */

struct ep_audit {
  int file;
  pthread_mutex_t mutex; /* guards the three below; with `syncing`, it is taken second */
  int64_t lines, bytes;
  char hash[EP_SHA256_HEX_BYTES]; /* of the last line */
  pthread_mutex_t syncing;        /* guards `synced`; one sync is for all lines before it */
  int64_t synced;
};

/* The chain while a file is read. */
typedef struct {
  int64_t lines, bytes; /* of the whole lines that are right */
  char hash[EP_SHA256_HEX_BYTES];
} chain;

static void chain_begin(chain *out) {
  *out = (chain){0};
  memset(out->hash, '0', EP_SHA256_HEX_BYTES - 1);
}

/* Whether the line, without its newline, comes next: by its number and the hash in it. */
static bool line_follows(const chain *before, const char *line, size_t bytes) {
  char head[48], tail[sizeof PREVIOUS_KEY + EP_SHA256_HEX_BYTES + 4];
  int head_bytes = snprintf(head, sizeof head, "{\"seq\":%lld,", (long long)before->lines + 1);
  int tail_bytes = snprintf(tail, sizeof tail, "," PREVIOUS_KEY "%s\"}", before->hash);
  return bytes > (size_t)(head_bytes + tail_bytes) && memcmp(line, head, (size_t)head_bytes) == 0 &&
         memcmp(line + bytes - tail_bytes, tail, (size_t)tail_bytes) == 0;
}

static ep_status lines_read(FILE *file, chain *at, bool *torn, ep_error *error) {
  char *line = NULL;
  size_t capacity = 0;
  ssize_t bytes;
  ep_status status = EP_OK;
  *torn = false;
  while (status == EP_OK && (bytes = getline(&line, &capacity, file)) > 0) {
    *torn = line[bytes - 1] != '\n';
    if (*torn) break;
    if (!line_follows(at, line, (size_t)bytes - 1))
      status = ep_fail(error, EP_DAMAGED,
                       "line %lld of " EP_AUDIT_FILE
                       " does not follow the previous one: lines were changed, removed or inserted",
                       (long long)at->lines + 1);
    if (status == EP_OK) status = ep_sha256_of(line, (size_t)bytes - 1, at->hash, error);
    if (status != EP_OK) break;
    at->lines++;
    at->bytes += bytes;
  }
  if (status == EP_OK && ferror(file))
    status = ep_fail(error, EP_IO, EP_AUDIT_FILE " cannot be read: %s", strerror(errno));
  free(line);
  return status;
}

/* EP_OK with no lines where there is no file. */
static ep_status file_read(const char *path, chain *at, bool *torn, ep_error *error) {
  chain_begin(at);
  *torn = false;
  FILE *file = fopen(path, "re");
  if (!file && errno == ENOENT) return EP_OK;
  if (!file) return ep_fail(error, EP_IO, "%.300s cannot be read: %s", path, strerror(errno));
  ep_status status = lines_read(file, at, torn, error);
  fclose(file);
  return status;
}

ep_status ep_audit_check(const char *data_dir, int64_t *lines, ep_error *error) {
  char path[EP_PATH_BYTES];
  chain at;
  bool torn;
  *lines = 0;
  ep_status status = ep_path_join(path, error, data_dir, EP_AUDIT_FILE, NULL);
  if (status != EP_OK) return status;
  status = file_read(path, &at, &torn, error);
  *lines = at.lines;
  if (status != EP_OK || !torn) return status;
  return ep_fail(error, EP_DAMAGED, EP_AUDIT_FILE " ends in the middle of line %lld",
                 (long long)at.lines + 1);
}

ep_status ep_audit_open(const char *data_dir, ep_audit **out, ep_error *error) {
  char path[EP_PATH_BYTES];
  chain at;
  bool torn;
  *out = NULL;
  ep_status status = ep_path_join(path, error, data_dir, EP_AUDIT_FILE, NULL);
  if (status == EP_OK) status = file_read(path, &at, &torn, error);
  if (status != EP_OK) return status;
  ep_audit *audit = calloc(1, sizeof *audit);
  if (!audit) return ep_fail_memory(error);
  pthread_mutex_init(&audit->mutex, NULL);
  pthread_mutex_init(&audit->syncing, NULL);
  audit->lines = audit->synced = at.lines;
  audit->bytes = at.bytes;
  memcpy(audit->hash, at.hash, sizeof audit->hash);
  audit->file = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (audit->file < 0 || (torn && ftruncate(audit->file, at.bytes) != 0)) {
    status = ep_fail(error, ep_status_from_errno(errno), "%.300s cannot be written: %s", path,
                     strerror(errno));
    ep_audit_close(audit);
    return status;
  }
  if (torn) ep_log(EP_LOG_WARNING, "%s: the incomplete last line is removed", path);
  *out = audit;
  return ep_durable_folder_sync(data_dir, error);
}

void ep_audit_close(ep_audit *audit) {
  if (!audit) return;
  if (audit->file >= 0) close(audit->file);
  pthread_mutex_destroy(&audit->mutex);
  pthread_mutex_destroy(&audit->syncing);
  free(audit);
}

/* The next line, with its newline, the caller's; NULL: memory is short. The mutex is held. */
static char *line_format(const ep_audit *audit, const ep_audit_entry *entry) {
  ep_writer writer;
  ep_writer_init(&writer, EP_LIMIT_AUDIT_LINE_BYTES);
  ep_writer_open(&writer, '{');
  ep_writer_member_integer(&writer, "seq", audit->lines + 1);
  ep_writer_member_time(&writer, "time", ep_clock_utc_us());
  ep_writer_member_string(&writer, "owner", entry->owner);
  ep_writer_member_string(&writer, "token", entry->token);
  ep_writer_member_string(&writer, "address", entry->address);
  ep_writer_member_string(&writer, "request", entry->request_id);
  ep_writer_member_string(&writer, "method", entry->method);
  ep_writer_member_string(&writer, "path", entry->path);
  ep_writer_member_string(&writer, "location", entry->location);
  ep_writer_member_integer(&writer, "status", entry->status);
  ep_writer_member_string(&writer, "outcome", entry->unknown ? "unknown" : "done");
  ep_writer_member_string(&writer, "previous", audit->hash);
  ep_writer_close(&writer, '}');
  ep_writer_bytes(&writer, "\n", 1);
  return ep_writer_take(&writer);
}

/* *number: of the line that was written. */
static ep_status line_append(ep_audit *audit, const ep_audit_entry *entry, int64_t *number,
                             ep_error *error) {
  char hash[EP_SHA256_HEX_BYTES];
  char *line = line_format(audit, entry);
  if (!line) return ep_fail_memory(error);
  size_t bytes = strlen(line);
  ep_status status = ep_sha256_of(line, bytes - 1, hash, error);
  if (status == EP_OK) status = ep_file_write_all(audit->file, line, bytes, error);
  free(line);
  if (status != EP_OK) {
    if (ftruncate(audit->file, audit->bytes) != 0) /* the next start cuts it */
      ep_log(EP_LOG_ERROR, EP_AUDIT_FILE " cannot be cut: %s", strerror(errno));
    return status;
  }
  memcpy(audit->hash, hash, sizeof hash);
  audit->bytes += (int64_t)bytes;
  *number = ++audit->lines;
  return EP_OK;
}

static ep_status line_sync(ep_audit *audit, int64_t number, ep_error *error) {
  ep_status status = EP_OK;
  pthread_mutex_lock(&audit->syncing);
  if (audit->synced < number) {
    pthread_mutex_lock(&audit->mutex);
    int64_t lines = audit->lines;
    pthread_mutex_unlock(&audit->mutex);
    if (fdatasync(audit->file) == 0)
      audit->synced = lines;
    else
      status = ep_fail(error, ep_status_from_errno(errno), EP_AUDIT_FILE " cannot be synced: %s",
                       strerror(errno));
  }
  pthread_mutex_unlock(&audit->syncing);
  return status;
}

ep_status ep_audit_append(ep_audit *audit, const ep_audit_entry *entry, ep_error *error) {
  int64_t number = 0;
  pthread_mutex_lock(&audit->mutex);
  ep_status status = line_append(audit, entry, &number, error);
  pthread_mutex_unlock(&audit->mutex);
  return status == EP_OK ? line_sync(audit, number, error) : status;
}
