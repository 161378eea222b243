#include "server/process/log_output.h"

#include <string.h>
#include <unistd.h>

#include "api/json/writer.h"
#include "server/process/clock.h"

enum { TEXT_LIMIT_BYTES = 600 };

/* Set once by ep_log_start. */
static struct {
  ep_log_level least;
  ep_log_format format;
} settings = {EP_LOG_INFO, EP_LOG_TEXT};

int ep_log_level_from_name(const char *name) {
  for (int level = EP_LOG_DEBUG; level <= EP_LOG_ERROR; level++)
    if (strcmp(ep_log_level_name((ep_log_level)level), name) == 0) return level;
  return -1;
}

/* Replaces characters that a terminal acts on. */
static void text_clean(const char *text, char out[TEXT_LIMIT_BYTES]) {
  size_t count = 0;
  for (; *text && count + 1 < TEXT_LIMIT_BYTES; text++) {
    unsigned char byte = (unsigned char)*text;
    out[count++] = byte < 0x20 || byte == 0x7f ? '?' : (char)byte;
  }
  out[count] = 0;
}

size_t ep_log_line(char line[EP_LOG_LINE_BYTES], ep_log_format format, ep_log_level level,
                   int64_t time_us, const char *text) {
  char short_text[TEXT_LIMIT_BYTES]; /* even if every byte becomes a 6-byte escape it fits a line */
  ep_writer writer;
  ep_writer_init_fixed(&writer, line, EP_LOG_LINE_BYTES);
  if (format == EP_LOG_JSON) {
    size_t bytes = strnlen(text, TEXT_LIMIT_BYTES - 1);
    memcpy(short_text, text, bytes);
    short_text[bytes] = 0;
    ep_writer_open(&writer, '{');
    ep_writer_key(&writer, "time");
    ep_writer_time(&writer, time_us);
    ep_writer_key(&writer, "level");
    ep_writer_string(&writer, ep_log_level_name(level));
    ep_writer_key(&writer, "message");
    ep_writer_string(&writer, short_text);
    ep_writer_close(&writer, '}');
  } else {
    text_clean(text, short_text);
    if (level >= EP_LOG_WARNING) {
      const char *name = ep_log_level_name(level);
      ep_writer_bytes(&writer, name, strlen(name));
      ep_writer_bytes(&writer, ": ", 2);
    }
    ep_writer_bytes(&writer, short_text, strlen(short_text));
  }
  ep_writer_bytes(&writer, "\n", 1);
  return writer.failed ? 0 : writer.count;
}

/* One write a line: lines of several threads do not mix. */
static void line_write(ep_log_level level, const char *text) {
  if (level < settings.least) return;
  char line[EP_LOG_LINE_BYTES];
  size_t bytes = ep_log_line(line, settings.format, level, ep_clock_utc_us(), text);
  if (bytes > 0 && write(STDERR_FILENO, line, bytes) < 0) return; /* no other place */
}

void ep_log_start(ep_log_level least, ep_log_format format) {
  settings.least = least;
  settings.format = format;
  if (format == EP_LOG_AUTO) settings.format = isatty(STDERR_FILENO) ? EP_LOG_TEXT : EP_LOG_JSON;
  ep_log_set_sink(line_write);
}
