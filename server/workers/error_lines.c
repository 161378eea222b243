#include "server/workers/error_lines.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "server/process/log.h"

enum { READ_BYTES = 4096, READS_AT_CLOSE = 64 }; /* what a pipe holds, and more */

static void line_log(ep_error_lines *lines) {
  if (lines->bytes > 0)
    ep_log(EP_LOG_WARNING, "%s%s%s%s: %.*s", lines->device[0] ? "worker of device " : "worker",
           lines->device, lines->job[0] ? ", job " : "", lines->job, (int)lines->bytes,
           lines->line);
  lines->bytes = 0;
}

static void bytes_take(ep_error_lines *lines, const char *text, size_t bytes) {
  for (size_t i = 0; i < bytes; i++) {
    if (text[i] == '\n' || lines->bytes == sizeof lines->line) line_log(lines);
    if (text[i] != '\n') lines->line[lines->bytes++] = text[i] != 0 ? text[i] : '?';
  }
}

/* Whether there may be more. */
static bool part_read(ep_error_lines *lines) {
  char text[READ_BYTES];
  ssize_t got = read(lines->fd, text, sizeof text);
  if (got > 0) bytes_take(lines, text, (size_t)got);
  if (got > 0 || (got < 0 && errno == EINTR)) return true;
  if (got < 0 && errno == EAGAIN) return false;
  line_log(lines);
  close(lines->fd);
  lines->fd = -1;
  return false;
}

void ep_error_lines_read(ep_error_lines *lines) {
  if (lines->fd >= 0) part_read(lines);
}

void ep_error_lines_close(ep_error_lines *lines) {
  for (int i = 0; i < READS_AT_CLOSE && lines->fd >= 0 && part_read(lines); i++) {
  }
  line_log(lines);
  if (lines->fd >= 0) close(lines->fd);
  lines->fd = -1;
}
