/* What a job leaves behind: its curve, weights and predictions. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api/reserve.h"
#include "api/responses/curve.h"
#include "engine/files/verified.h"
#include "engine/weights/c/export.h"
#include "engine/weights/npz.h"
#include "engine/weights/onnx.h"
#include "engine/weights/weights.h"
#include "server/curves/curves.h"
#include "server/curves/svg.h"
#include "server/curves/tfevents.h"
#include "server/handlers/handlers.h"
#include "server/http/messages/range.h"
#include "server/process/data_dir.h"
#include "server/process/log.h"

enum { HASHED_HERE_BYTES = 256 << 10 }; /* on an HTTP thread: 0.2 ms */

/* ?format= as an index into formats; CSV may be asked for by Accept as well. */
static ep_status format_read(const ep_request *request, const char *const *formats, int *format,
                             ep_error *error) {
  int fallback = strcmp(formats[1], "csv") == 0 && ep_accepts_csv(request);
  return ep_request_word(request, "format", formats, fallback, format, error);
}

/* Brings the curve up to date; of a job that has ended it may be whole already. */
static ep_status curve_update(ep_exchange *exchange, const char *job, ep_curve *curve,
                              ep_error *error) {
  ep_jobs *jobs = exchange->server->jobs;
  ep_event_log *log;
  ep_job_copy *copy = NULL;
  if (curve->ended) {
    ep_status status = ep_jobs_copy(jobs, job, &copy, error); /* or the job is deleted */
    ep_job_copy_destroy(copy);
    return status;
  }
  ep_status status = ep_jobs_retain_log(jobs, job, &log, error);
  if (status != EP_OK) return status;
  status = ep_curve_read(curve, log, ep_exchange_is_abandoned, exchange, error);
  ep_jobs_release_log(jobs, log);
  return status;
}

ep_status ep_job_curve_read(ep_exchange *exchange, const char *job, int64_t max_points,
                            ep_curve_point **points, int64_t *count, ep_error *error) {
  ep_curves *curves = exchange->server->curves;
  ep_curve *curve;
  *points = NULL;
  *count = 0;
  ep_status status = ep_curves_take(curves, job, ep_exchange_is_abandoned, exchange, &curve, error);
  if (status != EP_OK) return status;
  const int64_t before = exchange->working_bytes;
  status = curve_update(exchange, job, curve, error);
  if (status == EP_OK && curve->count > 0) {
    int64_t most = curve->count < max_points ? curve->count : max_points;
    *points = malloc((size_t)most * sizeof **points);
    if (*points)
      *count = ep_curve_thin(curve->points, curve->count, max_points, *points);
    else
      status = ep_fail_memory(error);
  }
  ep_curves_give(curves, curve);
  ep_reserve(before - exchange->working_bytes, NULL); /* the cache has its memory from here on */
  return status;
}

/* The points that a response has. */
typedef struct {
  ep_curve_point *points; /* [count], owned */
  int64_t count;
} curve_points;

static void json_respond(ep_exchange *exchange, const curve_points *read) {
  ep_exchange_json(exchange, ep_curve_format_json(exchange->request.id, read->points, read->count));
}

static void csv_respond(ep_exchange *exchange, const curve_points *read) {
  ep_csv_respond(exchange, ep_curve_format_csv(read->points, read->count));
}

/* The picture's title is the job's name, or its id where it has none. */
static void svg_respond(ep_exchange *exchange, const curve_points *read, ep_theme theme) {
  const char *id = exchange->request.id;
  ep_job_copy *copy = NULL;
  ep_error error = {0};
  if (ep_jobs_copy(exchange->server->jobs, id, &copy, &error) != EP_OK) {
    ep_exchange_fail(exchange, &error);
    return;
  }
  const ep_job_view *job = ep_job_copy_view(copy);
  ep_response_take_text(&exchange->response, 200, "image/svg+xml",
                        ep_curve_format_svg(job->name[0] != 0 ? job->name : id,
                                            ep_state_name((int)job->state), theme, read->points,
                                            read->count));
  ep_job_copy_destroy(copy);
  ep_response_header_add(&exchange->response, "Content-Disposition",
                         "inline; filename=\"%s-curve.svg\"", id);
  /* a picture that is opened by itself needs its style alone */
  ep_response_header_add(&exchange->response, "Content-Security-Policy",
                         "default-src 'none'; style-src 'unsafe-inline'; sandbox");
}

/* TensorBoard finds its files by name: "tfevents" and a time. */
static void tfevents_respond(ep_exchange *exchange, const curve_points *read) {
  size_t bytes = 0;
  void *file = ep_tfevents_format(read->points, read->count, &bytes);
  ep_response_take_bytes(&exchange->response, 200, "application/octet-stream", file, bytes);
  ep_response_header_add(&exchange->response, "Content-Disposition",
                         "attachment; filename=\"events.out.tfevents.%lld.%s\"",
                         read->count ? (long long)read->points[0].wall_seconds : 0LL,
                         exchange->request.id);
}

ep_route_result ep_route_curve_get(ep_exchange *exchange) {
  enum { JSON, CSV, SVG, TFEVENTS };
  static const char *const FORMATS[] = {"json", "csv", "svg", "tfevents", NULL};
  ep_request *request = &exchange->request;
  ep_error error = {0};
  int64_t max_points;
  int format, theme;
  curve_points read = {0};
  if (format_read(request, FORMATS, &format, &error) != EP_OK ||
      ep_request_word(request, "theme", EP_THEME_WORDS, EP_THEME_AUTO, &theme, &error) != EP_OK ||
      ep_request_integer(request, "max_points", 2, EP_LIMIT_CURVE_POINTS,
                         format == SVG ? EP_CURVE_SVG_POINTS : EP_LIMIT_CURVE_POINTS, &max_points,
                         &error) != EP_OK ||
      ep_job_curve_read(exchange, request->id, max_points, &read.points, &read.count, &error) !=
          EP_OK)
    return ep_exchange_fail(exchange, &error);
  switch (format) {
  case JSON: json_respond(exchange, &read); break;
  case CSV: csv_respond(exchange, &read); break;
  case SVG: svg_respond(exchange, &read, (ep_theme)theme); break;
  case TFEVENTS: tfevents_respond(exchange, &read); break;
  }
  free(read.points);
  return EP_ROUTE_DONE;
}

/* Whether it takes a thread of its own to find out that the open file has this hash. */
static bool takes_long(int file, const char *sha256) {
  struct stat about;
  return fstat(file, &about) == 0 && about.st_size > HASHED_HERE_BYTES &&
         !ep_verified_find(&about, sha256);
}

/* Responds with a result of the job, if it is what was written; or with a copy of it for
 * spreadsheets. sha256 "": not known, of before there were hashes of predictions. */
static ep_route_result result_serve(ep_exchange *exchange, const char *path, const char *sha256,
                                    bool spreadsheet, const char *type, const char *name,
                                    const char *etag) {
  ep_error error = {0};
  int file = -1;
  int64_t bytes = 0;
  if (ep_file_open(path, &file, &bytes, &error) != EP_OK) return ep_exchange_fail(exchange, &error);
  bool is_long = spreadsheet || (sha256[0] && takes_long(file, sha256));
  if (!exchange->works && is_long) {
    close(file);
    return EP_ROUTE_EXPORTS;
  }
  if (sha256[0] && ep_verified_sha256(file, path, sha256, &error) != EP_OK) {
    close(file);
    ep_log(EP_LOG_ERROR, "%s", error.message);
    return ep_exchange_fail(exchange, &error);
  }
  if (spreadsheet && ep_csv_copy(exchange, &file, &bytes, &error) != EP_OK)
    return ep_exchange_fail(exchange, &error);
  return ep_file_serve(exchange, file, bytes, type, name, etag);
}

/* The hashes that the job's row has of its results; all "" where it has no result. */
typedef struct {
  char weights[EP_SHA256_HEX_BYTES], json[EP_SHA256_HEX_BYTES], csv[EP_SHA256_HEX_BYTES];
} result_hashes;

static ep_status hashes_find(ep_exchange *exchange, result_hashes *out, ep_error *error) {
  ep_job_copy *copy = NULL;
  *out = (result_hashes){0};
  ep_status status = ep_jobs_copy(exchange->server->jobs, exchange->request.id, &copy, error);
  if (status != EP_OK) return status;
  const ep_job_result *result = ep_job_copy_view(copy)->result;
  if (result) {
    memcpy(out->weights, result->weights_sha256, sizeof out->weights);
    memcpy(out->json, result->predictions_json_sha256, sizeof out->json);
    memcpy(out->csv, result->predictions_csv_sha256, sizeof out->csv);
  } else {
    status = ep_fail(error, EP_DAMAGED,
                     "the store has no result of job %s: submit its spec again to recompute it",
                     exchange->request.id);
  }
  ep_job_copy_destroy(copy);
  return status;
}

/* A format of the weights: a file beside the job's own, made from it at the first request, and
 * beside it one with its hash, as sha256sum prints it. */
typedef struct {
  const char *file, *type;
  ep_status (*make)(const char *weights, const char *path, const ep_cancellation *stop,
                    ep_error *error); /* NULL: the job's own, or a worker's */
  bool exported, quantized;           /* a worker writes it; with int8 */
} weights_format;

static const weights_format weights_formats[] = {
    {EP_WEIGHTS_FILE, "application/octet-stream", NULL, false, false},
    {"weights.json", "application/json", ep_weights_to_json, false, false},
    {"weights.npz", "application/zip", ep_weights_to_npz, false, false},
    {"weights.onnx", "application/octet-stream", ep_weights_to_onnx, false, false},
    {"weights.h", "text/x-c; charset=utf-8", NULL, true, false},
    {"weights.int8.h", "text/x-c; charset=utf-8", NULL, true, true},
};
enum { FORMAT_C = 4, FORMAT_C_INT8 };
static const char *const weights_format_names[] = {"safetensors", "json", "npz", "onnx", "c", NULL};

/* The path of the file with the hash of the file at `path`. */
static ep_status hash_path(const char *path, char hashed[EP_PATH_BYTES], ep_error *error) {
  return snprintf(hashed, EP_PATH_BYTES, "%s.sha256", path) < EP_PATH_BYTES
             ? EP_OK
             : ep_fail(error, EP_TOO_LARGE, "the path of %s is too long", path);
}

/* The hash that was written beside a format; false when there is none. */
static bool hash_read(const char *path, char sha256[EP_SHA256_HEX_BYTES]) {
  char hashed[EP_PATH_BYTES];
  if (hash_path(path, hashed, NULL) != EP_OK) return false;
  int file = open(hashed, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
  if (file < 0) return false;
  ssize_t bytes = read(file, sha256, EP_SHA256_HEX_BYTES - 1);
  close(file);
  sha256[bytes > 0 ? bytes : 0] = 0;
  return bytes == EP_SHA256_HEX_BYTES - 1;
}

static ep_status hash_write(const char *made, const char *name, const char *path, ep_error *error) {
  char sha256[EP_SHA256_HEX_BYTES], text[EP_FILE_ETAG_BYTES + 64];
  int file = open(made, O_RDONLY | O_CLOEXEC);
  if (file < 0) return ep_fail(error, EP_IO, "%s: %s", made, strerror(errno));
  ep_status status = ep_file_sha256(file, made, sha256, error);
  close(file);
  if (status != EP_OK) return status;
  int bytes = snprintf(text, sizeof text, "%s  %s\n", sha256, name);
  return ep_data_dir_write_file(path, text, (size_t)bytes, error);
}

/* EP_NOT_FOUND: the job was deleted in the meantime. */
static ep_status file_move(const char *from, const char *to, ep_error *error) {
  if (rename(from, to) == 0) return EP_OK;
  return errno == ENOENT
             ? ep_fail(error, EP_NOT_FOUND, "the job was deleted")
             : ep_fail(error, ep_status_from_errno(errno), "%s: %s", to, strerror(errno));
}

/* made: below the data folder. */
static ep_status format_make(ep_exchange *exchange, const weights_format *format,
                             const char *weights, const char *made, ep_error *error) {
  const ep_server *server = exchange->server;
  const ep_cancellation stop = {ep_exchange_is_abandoned, exchange};
  if (!format->exported) return format->make(weights, made, &stop, error);
  return ep_jobs_export(server->jobs, exchange->request.id, format->quantized,
                        made + strlen(server->config->data_dir) + 1, &stop, error);
}

/* Makes the file in a folder of its own and moves it into place: two requests at the same time make
 * the same file. */
static ep_status file_make(ep_exchange *exchange, const weights_format *format, const char *weights,
                           const char *path, ep_error *error) {
  const ep_server *server = exchange->server;
  char folder[EP_PATH_BYTES], made[EP_PATH_BYTES], made_hash[EP_PATH_BYTES], hash[EP_PATH_BYTES];
  ep_status status = ep_data_dir_temporary(server->config->data_dir, folder, error);
  if (status != EP_OK) return status;
  status = ep_path_join(made, error, folder, format->file, NULL);
  if (status == EP_OK) status = hash_path(made, made_hash, error);
  if (status == EP_OK) status = hash_path(path, hash, error);
  if (status == EP_OK) status = format_make(exchange, format, weights, made, error);
  if (status == EP_OK) status = hash_write(made, format->file, made_hash, error);
  if (status == EP_OK) status = file_move(made, path, error);
  if (status == EP_OK) status = file_move(made_hash, hash, error);
  ep_data_dir_remove(folder, NULL);
  return status;
}

/* The path of the weights in that format, beside those at `weights`. */
static ep_status format_path(const weights_format *format, const char *weights,
                             char path[EP_PATH_BYTES], ep_error *error) {
  char folder[EP_PATH_BYTES];
  snprintf(folder, sizeof folder, "%s", weights);
  *strrchr(folder, '/') = 0;
  return ep_path_join(path, error, folder, format->file, NULL);
}

/* Opens the file of a format that was made before. False: it is to be made, because there is none,
 * or it is not what was written. `error` is of no interest then, but for the log. */
static bool format_open(const char *path, const char *sha256, int *file, int64_t *bytes) {
  ep_error error = {0};
  if (ep_file_open(path, file, bytes, &error) != EP_OK) return false;
  if (ep_verified_sha256(*file, path, sha256, &error) == EP_OK) return true;
  ep_log(EP_LOG_WARNING, "%s is damaged and is rebuilt", ep_stored_name(path));
  close(*file);
  return false;
}

/* Whether the format has to be made, or read whole: not on an HTTP thread. */
static bool format_takes_long(const char *path, bool hashed, const char *sha256) {
  int file = hashed ? open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW) : -1;
  bool is_long = file < 0 || takes_long(file, sha256);
  if (file >= 0) close(file);
  return is_long;
}

static void figure_respond(void *context, const char *name, const char *value) {
  ep_response_header_add(context, name, "%s", value);
}

/* Responds with the file of a format; what it says of its figures goes into headers. */
static ep_route_result made_serve(ep_exchange *exchange, const weights_format *format, int file,
                                  int64_t bytes, const char *etag) {
  if (format->quantized) ep_c_figures_read(file, figure_respond, &exchange->response);
  return ep_file_serve(exchange, file, bytes, format->type, format->file, etag);
}

/* Responds with another format of the weights. */
static ep_route_result format_serve(ep_exchange *exchange, const weights_format *format,
                                    const char *weights, const char *weights_sha256,
                                    const char *etag) {
  char path[EP_PATH_BYTES], sha256[EP_SHA256_HEX_BYTES];
  ep_error error = {0};
  int file = -1;
  int64_t bytes = 0;
  if (format_path(format, weights, path, &error) != EP_OK)
    return ep_exchange_fail(exchange, &error);
  bool hashed = hash_read(path, sha256);
  if (!exchange->works && format_takes_long(path, hashed, sha256)) return EP_ROUTE_EXPORTS;
  if (hashed && format_open(path, sha256, &file, &bytes))
    return made_serve(exchange, format, file, bytes, etag);
  ep_status status = ep_verified_sha256_at(weights, weights_sha256, &error);
  if (status == EP_OK) status = file_make(exchange, format, weights, path, &error);
  if (status == EP_OK) ep_jobs_note_file(exchange->server->jobs, exchange->request.id);
  if (status == EP_OK) status = ep_file_open(path, &file, &bytes, &error);
  if (status != EP_OK) return ep_exchange_fail(exchange, &error);
  return made_serve(exchange, format, file, bytes, etag);
}

/* ?format= and ?quantize= as an index into weights_formats. */
static ep_status weights_format_read(const ep_request *request, int *format, ep_error *error) {
  static const char *const QUANTIZED[] = {"none", "int8", NULL};
  int quantized;
  ep_status status = ep_request_word(request, "format", weights_format_names, 0, format, error);
  if (status == EP_OK)
    status = ep_request_word(request, "quantize", QUANTIZED, 0, &quantized, error);
  if (status != EP_OK || !quantized) return status;
  if (*format != FORMAT_C)
    return ep_fail(error, EP_MALFORMED, "quantize=int8 requires format=c, not %s",
                   weights_format_names[*format]);
  *format = FORMAT_C_INT8;
  return EP_OK;
}

ep_route_result ep_route_weights_get(ep_exchange *exchange) {
  ep_request *request = &exchange->request;
  ep_error error = {0};
  result_hashes hashes;
  char weights[EP_PATH_BYTES], etag[EP_FILE_ETAG_BYTES];
  int index;
  if (weights_format_read(request, &index, &error) != EP_OK ||
      ep_jobs_file(exchange->server->jobs, request->id, EP_WEIGHTS_FILE, weights, sizeof weights,
                   &error) != EP_OK ||
      hashes_find(exchange, &hashes, &error) != EP_OK)
    return ep_exchange_fail(exchange, &error);
  if (!hashes.weights[0])
    return ep_exchange_fail_with(exchange, EP_DAMAGED,
                                 "the store has no SHA-256 of the weights of job %s: submit its "
                                 "spec again to recompute them",
                                 request->id);
  const weights_format *format = &weights_formats[index];
  snprintf(etag, EP_FILE_ETAG_BYTES, "\"%s%s%s\"", hashes.weights, index > 0 ? "-" : "",
           index == FORMAT_C_INT8 ? "c-int8"
           : index > 0            ? weights_format_names[index]
                                  : "");
  if (format->make || format->exported)
    return format_serve(exchange, format, weights, hashes.weights, etag);
  return result_serve(exchange, weights, hashes.weights, false, format->type, format->file, etag);
}

ep_route_result ep_route_job_inputs(ep_exchange *exchange) {
  ep_error error = {0};
  char *text = NULL;
  int64_t checkpoint = 0;
  const char *name = ep_request_query(&exchange->request, "checkpoint");
  const ep_viewer viewer = ep_exchange_viewer(exchange);
  if ((name && ep_checkpoint_name_read(name, &checkpoint, &error) != EP_OK) ||
      ep_jobs_inputs(exchange->server->jobs, &viewer, exchange->request.id, checkpoint, &text,
                     &error) != EP_OK)
    return ep_exchange_fail(exchange, &error);
  return ep_exchange_json(exchange, text);
}

ep_route_result ep_route_predictions_get(ep_exchange *exchange) {
  static const char *const FORMATS[] = {"json", "csv", NULL};
  ep_request *request = &exchange->request;
  ep_error error = {0};
  result_hashes hashes;
  char path[EP_PATH_BYTES], etag[EP_FILE_ETAG_BYTES] = "";
  int format, spreadsheet;
  if (format_read(request, FORMATS, &format, &error) != EP_OK ||
      ep_spreadsheet_read(request, &spreadsheet, &error) != EP_OK ||
      ep_jobs_file(exchange->server->jobs, request->id,
                   format == 0 ? EP_PREDICTIONS_JSON_FILE : EP_PREDICTIONS_CSV_FILE, path,
                   sizeof path, &error) != EP_OK ||
      hashes_find(exchange, &hashes, &error) != EP_OK)
    return ep_exchange_fail(exchange, &error);
  const char *sha256 = format == 0 ? hashes.json : hashes.csv;
  spreadsheet &= format == 1;
  if (sha256[0]) snprintf(etag, sizeof etag, "\"%s%s\"", sha256, spreadsheet ? "-spreadsheet" : "");
  return result_serve(exchange, path, sha256, spreadsheet,
                      format == 0 ? "application/json" : EP_CSV_TYPE,
                      format == 0 ? EP_PREDICTIONS_JSON_FILE : EP_PREDICTIONS_CSV_FILE, etag);
}
