#include "clients/epochctl/client/output_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "clients/epochctl/terminal/human.h"
#include "clients/epochctl/terminal/text.h"

static bool is_stdout(const char *name) {
  return strcmp(name, "-") == 0;
}

ep_status ep_output_file_open(const char *name, ep_output_file *out, ep_error *error) {
  *out = (ep_output_file){.name = name, .file = stdout};
  if (is_stdout(name)) return EP_OK;
  if (strlen(name) >= EP_OUTPUT_NAME_BYTES)
    return ep_fail(error, EP_INVALID, "--output is too long");
  snprintf(out->part, sizeof out->part, "%s.part-%ld", name, (long)getpid());
  int descriptor = open(out->part, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  out->file = descriptor < 0 ? NULL : fdopen(descriptor, "w");
  if (out->file) return EP_OK;
  if (descriptor >= 0) close(descriptor);
  return ep_fail(error, EP_INVALID, "%.300s cannot be created: %s", name, strerror(errno));
}

ep_status ep_output_file_close(ep_output_file *output, ep_status status, ep_error *error) {
  if (is_stdout(output->name)) return status;
  bool good = fflush(output->file) == 0 && fsync(fileno(output->file)) == 0;
  good = fclose(output->file) == 0 && good;
  if (status == EP_OK && !good)
    status = ep_fail(error, EP_IO, "%.300s cannot be written: %s", output->part, strerror(errno));
  if (status == EP_OK && rename(output->part, output->name) != 0)
    status = ep_fail(error, EP_IO, "%.300s cannot be created: %s", output->name, strerror(errno));
  if (status != EP_OK) unlink(output->part);
  return status;
}

void ep_output_file_print(const char *name, int64_t bytes, const char *more) {
  char shown[EP_OUTPUT_NAME_BYTES], size[EP_HUMAN_BYTES];
  if (is_stdout(name)) return;
  ep_text_copy(shown, sizeof shown, name);
  printf("%s  %s%s\n", shown, ep_human_bytes((double)bytes, size), more);
}
