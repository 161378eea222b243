/* command_weights.c: weights: a download that is whole or not there. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sodium.h>

#include "clients/epochctl/commands.h"
#include "clients/epochctl/figures.h"
#include "clients/epochctl/http.h"
#include "clients/epochctl/job_name.h"

enum { FILE_PATH_BYTES = 4096, TRIES = 5, HEX_BYTES = 2 * crypto_hash_sha256_BYTES + 1 };

typedef struct {
  const ep_session *session;
  FILE *file;
  crypto_hash_sha256_state hash;
  int64_t bytes;
  int failure; /* errno of a write that failed */
  bool drawn;
} download;

static bool bytes_come(void *context, const char *bytes, size_t count) {
  download *now = context;
  if (fwrite(bytes, 1, count, now->file) != count) {
    now->failure = errno;
    return false;
  }
  crypto_hash_sha256_update(&now->hash, (const unsigned char *)bytes, count);
  now->bytes += (int64_t)count;
  return true;
}

/* Only where something goes to a file: the bytes themselves may go to the terminal's place. */
static bool tick_comes(void *context, int64_t sent, int64_t to_send, int64_t received,
                       int64_t to_receive) {
  download *now = context;
  char a[EP_FIGURE_BYTES], b[EP_FIGURE_BYTES];
  (void)sent, (void)to_send;
  if (!now->session->terminal.live || now->file == stdout || to_receive < (4 << 20)) return true;
  int64_t before = now->bytes - received; /* of earlier tries */
  printf("\r%s of %s\x1b[K", ep_figure_bytes((double)now->bytes, a),
         ep_figure_bytes((double)(to_receive + before), b));
  fflush(stdout);
  now->drawn = true;
  return true;
}

/* As often as it takes, each time from the byte that is missing; the ETag says that it is the same
 * content. */
static ep_status fetch(ep_session *session, const char *path, download *now, char etag[128],
                       ep_error *error) {
  ep_status status = EP_OK;
  *etag = 0;
  for (int i = 0; i < TRIES; i++) {
    ep_error fault = {0};
    ep_answer answer;
    ep_call call = {.method = "GET",
                    .path = path,
                    .accept = "*/*",
                    .take = bytes_come,
                    .tick = tick_comes,
                    .context = now,
                    .from = now->bytes,
                    .if_range = now->bytes > 0 && *etag ? etag : NULL,
                    .long_lasting = true};
    int64_t before = now->bytes;
    status = ep_call_send(session, &call, &answer, &fault);
    bool whole_again = before > 0 && answer.code == 200 && now->bytes > before;
    if (before == 0) snprintf(etag, 128, "%s", answer.etag);
    ep_answer_deinit(&answer);
    if (now->failure)
      return ep_fail(error, EP_IO, "the file cannot be written: %s", strerror(now->failure));
    if (whole_again)
      return ep_fail(error, EP_CONFLICT, "the weights changed while they were downloaded");
    if (!status) return EP_OK;
    ep_fail(error, status, "%s", fault.message);
    if (status != EP_IO && status != EP_UNAVAILABLE) return status;
    if (now->bytes == 0 || !*etag) return status; /* nothing to go on from */
  }
  return status;
}

/* The ETag of safetensors is the file's SHA-256 between quotes. */
static ep_status check(download *now, const char *etag, ep_error *error) {
  unsigned char digest[crypto_hash_sha256_BYTES];
  char hex[HEX_BYTES];
  crypto_hash_sha256_final(&now->hash, digest);
  sodium_bin2hex(hex, sizeof hex, digest, sizeof digest);
  if (strlen(etag) != HEX_BYTES + 1 || memcmp(etag + 1, hex, HEX_BYTES - 1) == 0) return EP_OK;
  return ep_fail(error, EP_IO, "the download is damaged: its SHA-256 is %s, and should be %.64s",
                 hex, etag + 1);
}

static ep_status to_file(ep_session *session, const char *path, const char *name, download *now,
                         bool checked, ep_error *error) {
  char part[FILE_PATH_BYTES + 32], etag[128];
  snprintf(part, sizeof part, "%s.part-%ld", name, (long)getpid());
  int descriptor = open(part, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  now->file = descriptor < 0 ? NULL : fdopen(descriptor, "w");
  if (!now->file) {
    if (descriptor >= 0) close(descriptor);
    return ep_fail(error, EP_INVALID, "%.300s cannot be made: %s", part, strerror(errno));
  }
  ep_status status = fetch(session, path, now, etag, error);
  if (now->drawn) fputs("\r\x1b[K", stdout);
  bool good = fflush(now->file) == 0 && fsync(fileno(now->file)) == 0;
  good = fclose(now->file) == 0 && good;
  if (!status && !good)
    status = ep_fail(error, EP_IO, "%.300s cannot be written: %s", part, strerror(errno));
  if (!status && checked) status = check(now, etag, error);
  if (!status && rename(part, name) != 0)
    status = ep_fail(error, EP_IO, "%.300s cannot be made: %s", name, strerror(errno));
  if (status) unlink(part);
  return status;
}

static ep_status to_output(ep_session *session, const char *path, download *now, bool checked,
                           ep_error *error) {
  char etag[128];
  now->file = stdout;
  ep_status status = fetch(session, path, now, etag, error);
  return !status && checked ? check(now, etag, error) : status;
}

ep_status ep_command_weights(ep_session *session, const ep_arguments *arguments, ep_error *error) {
  char id[EP_JOB_ID_BYTES], path[EP_PATH_MAX_BYTES], name[FILE_PATH_BYTES];
  char size[EP_FIGURE_BYTES];
  const char *format = ep_arguments_value(arguments, "format");
  const char *output = ep_arguments_value(arguments, "output");
  download now = {.session = session};
  ep_status status = ep_job_find(session, arguments->words[0], id, error);
  if (status) return status;
  if (!format) format = "safetensors";
  if (output && strlen(output) >= sizeof name)
    return ep_fail(error, EP_INVALID, "--output is too long");
  ep_path_make(path, "/v1/jobs/", id, "/weights");
  ep_path_query(path, "format", format);
  if (sodium_init() < 0) return ep_fail(error, EP_INTERNAL, "libsodium does not start");
  crypto_hash_sha256_init(&now.hash);
  bool checked = strcmp(format, "safetensors") == 0;
  if (output && strcmp(output, "-") == 0) return to_output(session, path, &now, checked, error);
  if (output)
    snprintf(name, sizeof name, "%s", output);
  else
    snprintf(name, sizeof name, "%s.%s", id, format);
  status = to_file(session, path, name, &now, checked, error);
  if (!status && !session->json) {
    char shown[FILE_PATH_BYTES];
    ep_text_copy(shown, sizeof shown, name);
    printf("%s  %s%s\n", shown, ep_figure_bytes((double)now.bytes, size),
           checked ? ", SHA-256 as it should be" : "");
  }
  return status;
}
