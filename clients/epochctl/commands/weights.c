/* weights.c: epochctl weights: a download that is whole or absent. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "api/hash/sha256.h"
#include "clients/epochctl/client/output_file.h"
#include "clients/epochctl/commands/table.h"
#include "clients/epochctl/http/path.h"
#include "clients/epochctl/http/request.h"
#include "clients/epochctl/jobs/job_id.h"
#include "clients/epochctl/terminal/human.h"

enum { NAME_BYTES = 256, TRIES = 5, STEP_DIGITS = 18 };

static const char SAFETENSORS[] = "safetensors";

/* What is downloaded. */
typedef struct {
  const char *format;
  const char *quantize;   /* NULL: not */
  const char *checkpoint; /* a step or "latest"; NULL: the job's last weights */
  const char *output;     /* a file, "-", or NULL for the usual name */
} weights_choice;

typedef struct {
  const ep_client *client;
  FILE *file;
  ep_sha256 hash;
  int64_t bytes;
  int failure; /* errno of a write that failed */
  bool drawn;
} download;

static bool bytes_write(void *context, const char *bytes, size_t count) {
  download *now = context;
  if (fwrite(bytes, 1, count, now->file) != count) {
    now->failure = errno;
    return false;
  }
  ep_sha256_update(&now->hash, bytes, count);
  now->bytes += (int64_t)count;
  return true;
}

/* Draws only when the content goes to a file. */
static bool progress_draw(void *context, int64_t sent, int64_t to_send, int64_t received,
                          int64_t to_receive) {
  download *now = context;
  char a[EP_HUMAN_BYTES], b[EP_HUMAN_BYTES];
  (void)sent, (void)to_send;
  if (!now->client->terminal.live || now->file == stdout || to_receive < (4 << 20)) return true;
  int64_t before = now->bytes - received; /* of earlier tries */
  printf("\r%s of %s\x1b[K", ep_human_bytes((double)now->bytes, a),
         ep_human_bytes((double)(to_receive + before), b));
  fflush(stdout);
  now->drawn = true;
  return true;
}

/* Tries several times, each from the first missing byte. The ETag shows that the content is the
 * same. */
static ep_status content_fetch(ep_session *session, const char *path, download *now,
                               char etag[EP_ETAG_BYTES], ep_error *error) {
  ep_status status = EP_OK;
  *etag = 0;
  for (int i = 0; i < TRIES; i++) {
    ep_error fault = {0};
    ep_http_response response;
    ep_http_request request = {.method = "GET",
                               .path = path,
                               .accept = "*/*",
                               .take = bytes_write,
                               .tick = progress_draw,
                               .context = now,
                               .from = now->bytes,
                               .if_range = now->bytes > 0 && *etag ? etag : NULL,
                               .long_lasting = true};
    int64_t before = now->bytes;
    status = ep_http_send(session, &request, &response, &fault);
    bool whole_again = before > 0 && response.code == 200 && now->bytes > before;
    if (before == 0) snprintf(etag, EP_ETAG_BYTES, "%s", response.etag);
    ep_http_response_deinit(&response);
    if (now->failure)
      return ep_fail(error, EP_IO, "the file cannot be written: %s", strerror(now->failure));
    if (whole_again)
      return ep_fail(error, EP_CONFLICT, "the weights changed while they were downloaded");
    if (status == EP_OK) return EP_OK;
    ep_fail(error, status, "%s", fault.message);
    if (status != EP_IO && status != EP_UNAVAILABLE) return status;
    if (now->bytes == 0 || !*etag) return status; /* nothing to continue from */
  }
  return status;
}

/* The ETag of safetensors is the file's SHA-256 between quotes. */
static ep_status hash_check(download *now, const char *etag, ep_error *error) {
  char hex[EP_SHA256_HEX_BYTES];
  ep_sha256_final(&now->hash, hex);
  if (strlen(etag) != EP_SHA256_HEX_BYTES + 1 ||
      memcmp(etag + 1, hex, EP_SHA256_HEX_BYTES - 1) == 0)
    return EP_OK;
  return ep_fail(error, EP_IO, "the download is damaged: its SHA-256 is %s, expected %.64s", hex,
                 etag + 1);
}

static ep_status file_download(ep_session *session, const char *path, const char *name,
                               download *now, bool checked, ep_error *error) {
  char etag[EP_ETAG_BYTES];
  ep_output_file output;
  ep_status status = ep_output_file_open(name, &output, error);
  if (status != EP_OK) return status;
  now->file = output.file;
  status = content_fetch(session, path, now, etag, error);
  if (now->drawn) fputs("\r\x1b[K", stdout);
  if (status == EP_OK && checked) status = hash_check(now, etag, error);
  return ep_output_file_close(&output, status, error);
}

/* The path of the request, and the usual name of the file. */
static void names_write(const char *id, const weights_choice *choice,
                        char path[EP_REQUEST_PATH_BYTES], char name[NAME_BYTES]) {
  char list[EP_REQUEST_PATH_BYTES];
  const char *ending = strcmp(choice->format, "c") == 0 ? "h" : choice->format;
  if (choice->checkpoint) {
    ep_path_make(list, "/v1/jobs/", id, "/checkpoints/");
    ep_path_make(path, list, choice->checkpoint, "/weights");
    snprintf(name, NAME_BYTES, "%s-%s.%s", id, choice->checkpoint, ending);
    return;
  }
  ep_path_make(path, "/v1/jobs/", id, "/weights");
  ep_path_query(path, "format", choice->format);
  if (choice->quantize) ep_path_query(path, "quantize", choice->quantize);
  snprintf(name, NAME_BYTES, "%s.%s", id, ending);
}

static ep_status weights_download(ep_client *client, const char *id, const weights_choice *choice,
                                  download *now, ep_error *error) {
  char path[EP_REQUEST_PATH_BYTES], name[NAME_BYTES];
  const char *output = choice->output;
  bool checked = strcmp(choice->format, SAFETENSORS) == 0;
  names_write(id, choice, path, name);
  if (!output) output = name;
  ep_status status = file_download(&client->session, path, output, now, checked, error);
  if (status == EP_OK && !client->json)
    ep_output_file_print(output, now->bytes, checked ? ", SHA-256 verified" : "");
  return status;
}

/* A step becomes part of a file's name: digits alone. */
static ep_status choice_read(const ep_arguments *arguments, weights_choice *out, ep_error *error) {
  const char *format = ep_arguments_value(arguments, "format");
  const char *step = ep_arguments_value(arguments, "checkpoint");
  *out = (weights_choice){format ? format : SAFETENSORS, ep_arguments_value(arguments, "quantize"),
                          step, ep_arguments_value(arguments, "output")};
  if (out->quantize && strcmp(out->format, "c") != 0)
    return ep_fail(error, EP_INVALID, "--quantize requires --format c");
  if (!step) return EP_OK;
  size_t digits = strspn(step, "0123456789");
  if (strcmp(step, "latest") != 0 && (digits == 0 || digits > STEP_DIGITS || step[digits]))
    return ep_fail(
        error, EP_INVALID,
        "--checkpoint must be a step listed by epochctl checkpoints, or latest, not \"%.64s\"",
        step);
  if (strcmp(out->format, SAFETENSORS) != 0)
    return ep_fail(error, EP_INVALID,
                   "checkpoints are available as safetensors only: omit --format");
  return EP_OK;
}

static ep_status subcommand_run(ep_client *client, const ep_arguments *arguments, ep_error *error) {
  char id[EP_JOB_ID_BYTES];
  weights_choice choice;
  download now = {.client = client};
  ep_status status = choice_read(arguments, &choice, error);
  if (status == EP_OK) status = ep_job_id_find(&client->session, arguments->words[0], id, error);
  if (status != EP_OK) return status;
  status = ep_sha256_init(&now.hash, error);
  if (status == EP_OK) status = weights_download(client, id, &choice, &now, error);
  ep_sha256_deinit(&now.hash);
  return status;
}

/* clang-format off */
static const ep_option OPTIONS[] = {
  {.name = "output", .letter = 'o', .kind = EP_OPTION_FILE, .value = "FILE",
   .doc = "the file to write; - is standard output (JOB.FORMAT, JOB-STEP.FORMAT)"},
  {.name = "format", .letter = 'f', .kind = EP_OPTION_CHOICE, .value = "safetensors|npz|json|onnx|c",
   .doc = "c: a C99 header that predicts, JOB.h (safetensors)"},
  {.name = "quantize", .letter = 'q', .kind = EP_OPTION_CHOICE, .value = "int8",
   .doc = "with c: weights of linear and convolution layers as int8"},
  {.name = "checkpoint", .letter = 'c', .kind = EP_OPTION_TEXT, .value = "STEP|latest",
   .doc = "the weights of this checkpoint, also while the job trains"},
  {.name = NULL}};

const ep_subcommand ep_subcommand_weights = {
  .name = "weights", .words = "JOB", .kind = EP_WORD_JOB, .least = 1, .most = 1,
  .options = OPTIONS, .run = subcommand_run,
  .summary = "download a job's weights",
  .details =
    "The file appears under its name once complete; the SHA-256 of safetensors is verified. An interrupted transfer resumes.",
  .examples =
    "epochctl weights last --format onnx -o digits.onnx\n"
    "epochctl weights last --format c --quantize int8 -o digits.h\n"
    "epochctl weights last --checkpoint latest -o so-far.safetensors"};
/* clang-format on */
