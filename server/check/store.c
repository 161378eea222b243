/* The store itself: SQLite's own check of its pages and indices. */
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/files/path.h"
#include "server/check/checkup.h"
#include "server/store/integrity.h"

static void fault_print(void *context, const char *text) {
  ep_checkup_fault(context, EP_STORE_FILE, "%s", text);
}

/* SQLite passes over what is behind its last page. */
static void size_check(ep_checkup *checkup) {
  char path[EP_PATH_BYTES];
  uint8_t head[18] = {0}; /* its last two bytes: of a page, big-endian; 1 = 65536 */
  struct stat about;
  int file = ep_path_join(path, NULL, checkup->data_dir, EP_STORE_FILE, NULL) == EP_OK
                 ? open(path, O_RDONLY | O_CLOEXEC)
                 : -1;
  if (file < 0) return; /* it was open a moment ago */
  bool read_ = pread(file, head, sizeof head, 0) == sizeof head && fstat(file, &about) == 0;
  int64_t page_bytes = head[16] << 8 | head[17];
  if (page_bytes == 1) page_bytes = 65536;
  if (read_ && page_bytes > 0 && about.st_size % page_bytes != 0)
    fault_print(checkup, "its size is not a whole number of pages");
  close(file);
}

ep_status ep_check_store(ep_checkup *checkup, ep_error *error) {
  size_check(checkup);
  return ep_store_integrity(checkup->store, fault_print, checkup, error);
}
