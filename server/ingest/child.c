#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "api/hash/sha256.h"
#include "api/spec/spec.h"
#include "engine/data/datasets/meta.h"
#include "engine/data/formats/ingest.h"
#include "engine/data/inputs/picture_rows.h"
#include "engine/files/free_space.h"
#include "engine/files/mapping.h"
#include "engine/sandbox/sandbox.h"
#include "server/ingest/ingest.h"
#include "server/ingest/request.h"

static bool request_receive(ep_ingest_request *request) {
  ssize_t got;
  do got = recv(STDIN_FILENO, request, sizeof *request, MSG_WAITALL);
  while (got < 0 && errno == EINTR);
  return got == (ssize_t)sizeof *request;
}

/* Where memory is short, this process is what the kernel ends first. */
static void kernel_choose(void) {
  static const char most[] = "1000";
  int file = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
  if (file < 0) return;
  if (write(file, most, sizeof most - 1) < 0) return; /* a system without /proc */
  close(file);
}

/* All that is read or loaded at first comes before the walls. */
static ep_status walls_raise(const ep_ingest_request *request, ep_error *error) {
  enum { FILES = 64 };
  signal(SIGXFSZ, SIG_IGN); /* a write fails instead */
  ep_json_seed();
  ep_status status = ep_sha256_prepare(error);
  if (status != EP_OK) return status;
  kernel_choose();
  ep_sandbox_enter(&(ep_sandbox){.kind = EP_SANDBOX_INGEST,
                                 .memory_bytes = request->memory_bytes,
                                 .file_bytes = request->max_output_bytes,
                                 .cpu_seconds = request->seconds,
                                 .files = FILES});
  return EP_OK;
}

static ep_status upload_read(const ep_ingest_request *request, const ep_path_source *source,
                             ep_dataset_meta *meta, ep_problem *faults, ep_error *error) {
  const ep_ingest_options options = {.dialect = request->dialect,
                                     .height = request->height,
                                     .width = request->width,
                                     .channels = request->channels,
                                     .table = request->table[0] ? request->table : NULL,
                                     .sha256 = request->sha256,
                                     .skip_broken = request->skip_broken,
                                     .faults = faults};
  const int64_t most = request->max_output_bytes;
  for (int i = 0; i < EP_INGEST_FILES; i++) {
    ep_split split = (ep_split)(i / EP_ROLE_COUNT);
    ep_role role = (ep_role)(i % EP_ROLE_COUNT);
    if (!request->there[i]) continue;
    return request->whole ? ep_dataset_ingest(source->file[split][role], request->folder, &options,
                                              most, meta, error)
                          : ep_dataset_ingest_part(source->file[split][role], request->folder,
                                                   split, role, &options, most, meta, error);
  }
  return ep_fail(error, EP_INTERNAL, "no file to read");
}

static ep_status pictures_read(const ep_ingest_request *request, const ep_path_source *source,
                               ep_error *error) {
  ep_mapping mapping;
  ep_picture_rows rows;
  int64_t values = (int64_t)request->channels * request->height * request->width;
  ep_status status =
      ep_mapping_of(source->file[EP_SPLIT_TRAIN][EP_ROLE_TABLE], "the body", &mapping, error);
  if (status != EP_OK) return status;
  status = ep_picture_rows_read(mapping.bytes, mapping.size, request->channels, request->height,
                                request->width, request->deep,
                                EP_LIMIT_PREDICT_BYTES / (int)sizeof *rows.x, &rows, error);
  if (status == EP_OK) status = ep_picture_rows_write(request->folder, &rows, values, error);
  return status;
}

static ep_status path_read(const ep_ingest_request *request, ep_path_source *source,
                           ep_dataset_meta *meta, ep_error *error) {
  ep_status status = ep_path_source_check(source, error);
  if (status != EP_OK) return status;
  if (!source->mappable)
    return ep_path_source_ingest(source, request->folder, request->max_output_bytes, error);
  status = ep_path_source_measure(source, true, meta, error);
  return status == EP_OK ? ep_dataset_meta_write(request->folder, meta, error) : status;
}

static ep_status request_obey(const ep_ingest_request *request, ep_problem *faults,
                              ep_error *error) {
  ep_path_source source;
  ep_dataset_meta meta = {0};
  int number = EP_INGEST_FIRST_FILE;
  ep_path_source_init(&source);
  source.whole = request->whole;
  for (int i = 0; i < EP_INGEST_FILES; i++)
    if (request->there[i]) source.file[i / EP_ROLE_COUNT][i % EP_ROLE_COUNT] = number++;
  ep_status status = walls_raise(request, error);
  if (status != EP_OK) return status;
  ep_free_space_reserve(request->reserve_bytes);
  if (request->predicts) return pictures_read(request, &source, error);
  return request->upload ? upload_read(request, &source, &meta, faults, error)
                         : path_read(request, &source, &meta, error);
}

int ep_ingest_serve(void) {
  ep_ingest_request request;
  ep_ingest_reply reply = {0};
  prctl(PR_SET_NAME, "epochd-ingest");
  prctl(PR_SET_PDEATHSIG, SIGKILL); /* nobody waits for the reply of a daemon that is gone */
  if (!request_receive(&request)) return EXIT_FAILURE;
  reply.error.status = request_obey(&request, &reply.faults, &reply.error);
  ssize_t sent = write(STDIN_FILENO, &reply, sizeof reply);
  _exit(sent == (ssize_t)sizeof reply ? EXIT_SUCCESS : EXIT_FAILURE);
}
