/* Any bytes as the log of a job: its right lines are a prefix of the file, each of one event. */
#include "api/wire/event.h"
#include "api/wire/event_seal.h"
#include "server/events/log_scan.h"
#include "tests/fuzz/files/files.h"

#include <fcntl.h>

static ep_status line_look(void *context, const char *line, size_t bytes, int64_t offset,
                           ep_error *error) {
  int64_t *end = context;
  ep_event event;
  FUZZ_HOLDS(offset == *end && bytes > 0 && line[bytes - 1] == '\n');
  FUZZ_HOLDS(ep_event_seal_check(line, bytes - 1) == EP_SEAL_WHOLE ||
             ep_event_parse(line, bytes - 1, &event, error) == EP_OK);
  *end += (int64_t)bytes;
  return EP_OK;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count) {
  ep_log_scan scan;
  ep_error error = {0};
  int64_t end = 0;
  fuzz_file_write("events.ndjson", bytes, count);
  int file = open(fuzz_path, O_RDONLY | O_CLOEXEC);
  FUZZ_HOLDS(file >= 0);
  FUZZ_HOLDS(ep_log_scan_file(file, line_look, &end, &scan, &error) == EP_OK);
  FUZZ_HOLDS(scan.bytes == end && scan.bytes <= (int64_t)count && scan.lines >= 0);
  FUZZ_HOLDS(scan.bytes < (int64_t)count || !scan.damaged);
  close(file);
  return 0;
}
