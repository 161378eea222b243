/* accepts.c: which texts a field takes. */
#include <ctype.h>
#include <string.h>

#include "api/json/utf8.h"
#include "api/limits.h"
#include "api/names.h"
#include "api/spec/slurm.h"
#include "api/spec/tables.h"

bool ep_device_accepts(const char *text) {
  if (strcmp(text, "auto") == 0 || strcmp(text, "cpu") == 0 || strcmp(text, "cuda") == 0)
    return true;
  if (strncmp(text, "cuda:", 5) != 0)
    return ep_slurm_device_accepts(text) || ep_kubernetes_device_accepts(text);
  size_t digits = strspn(text + 5, "0123456789");
  return digits >= 1 && digits <= 4 && text[5 + digits] == 0 && (digits == 1 || text[5] != '0');
}

bool ep_executor_accepts(const char *text) {
  size_t kind = strncmp(text, "cpu/", 4) == 0 ? 4 : strncmp(text, "cuda/", 5) == 0 ? 5 : 0;
  if (!kind || !text[kind]) return false;
  return strspn(text + kind, "abcdefghijklmnopqrstuvwxyz0123456789_-") == strlen(text + kind);
}

bool ep_find_accepts(const char *text) {
  return strcmp(text, "lr") == 0;
}

bool ep_sha256_accepts(const char *text) {
  return strlen(text) == 64 && strspn(text, "0123456789abcdef") == 64;
}

bool ep_dataset_accepts(const char *name) {
  if (!isalnum((unsigned char)name[0])) return false;
  for (size_t i = 0; name[i]; i++) {
    if (i >= EP_LIMIT_NAME_BYTES) return false;
    if (!isalnum((unsigned char)name[i]) && !strchr("._-", name[i])) return false;
  }
  return true;
}

bool ep_name_accepts(const char *text) {
  const size_t bytes = strlen(text);
  if (bytes > 0 && (text[0] == ' ' || text[bytes - 1] == ' ')) return false;
  return ep_utf8_shows(text, bytes);
}

bool ep_job_name_accepts(const char *text) {
  static const char *const starts[] = {EP_JOB_PREFIX, EP_SWEEP_PREFIX, EP_JOB_WORD, EP_SWEEP_WORD,
                                       EP_MODEL_WORD};
  for (size_t i = 0; i < sizeof starts / sizeof *starts; i++)
    if (strncmp(text, starts[i], strlen(starts[i])) == 0) return false;
  return strcmp(text, EP_LAST_WORD) != 0 && ep_name_accepts(text);
}

bool ep_job_accepts(const char *text) {
  return strncmp(text, "job_", 4) == 0 &&
         strspn(text + 4, "0123456789abcdefghijklmnopqrstuvwxyz") == strlen(text) - 4;
}

bool ep_path_accepts(const char *path) {
  if (!path[0]) return false;
  for (const char *step = path; step; step = strchr(step, '/')) {
    if (*step == '/') step++;
    size_t bytes = strcspn(step, "/");
    if (bytes == 2 && step[0] == '.' && step[1] == '.') return false;
  }
  return true;
}
