/* ingest.c: from an uploaded file to a dataset's folder: unpack, recognise, read, describe. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine/data/durable_file.h"
#include "engine/data/format.h"
#include "engine/data/gz.h"
#include "engine/data/mapping.h"
#include "engine/data/meta.h"

/* Asked in this order: any text looks like a CSV. */
static const ep_format *const formats[] = {&ep_format_npy, &ep_format_flat_json, &ep_format_csv};

ep_status ep_ingest_bytes(ep_ingest *ingest, ep_error *error) {
  for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
    if (!formats[i]->recognise(ingest->bytes, ingest->size)) continue;
    snprintf(ingest->meta->format, sizeof ingest->meta->format, "%s", formats[i]->name);
    return formats[i]->read(ingest, error);
  }
  if (ep_gz_recognise(ingest->bytes, ingest->size))
    return ep_fail(error, EP_MEDIA_TYPE, "gz within gz is not unpacked");
  return ep_fail(error, EP_MEDIA_TYPE,
                 "the content is not known: CSV (as UTF-8), NPY and the flat JSON form are, each "
                 "also as gz");
}

/* The hash of the upload takes as long as reading it; a thread of its own makes that one time. */
typedef struct {
  ep_mapping mapping;
  pthread_t thread;
  bool threaded;
  char *sha256; /* [65] */
} hashing;

static void *hash_run(void *argument) {
  hashing *job = argument;
  uint8_t digest[crypto_hash_sha256_BYTES];
  crypto_hash_sha256(digest, job->mapping.bytes, job->mapping.size);
  sodium_bin2hex(job->sha256, 65, digest, sizeof digest);
  return NULL;
}

static void hash_start(hashing *job, ep_mapping mapping, char *sha256) {
  *job = (hashing){.mapping = mapping, .sha256 = sha256};
  job->threaded = pthread_create(&job->thread, NULL, hash_run, job) == 0;
}

static void hash_finish(hashing *job) {
  if (job->threaded)
    pthread_join(job->thread, NULL);
  else
    hash_run(job);
}

/* A file that has no name any more, in the dataset's folder (where there is room for it). */
static ep_status temporary_create(const char *folder, int *file, ep_error *error) {
  char path[PATH_MAX];
  int length = snprintf(path, sizeof path, "%s/unpacked.XXXXXX", folder);
  if (length < 0 || length >= PATH_MAX) return ep_fail(error, EP_IO, "the path is too long");
  *file = mkostemp(path, O_CLOEXEC);
  if (*file < 0) return ep_fail(error, EP_IO, "%s: %s", path, strerror(errno));
  unlink(path);
  return EP_OK;
}

/* Unpacks and reads; the unpacked bytes are gone afterwards. */
static ep_status packed_read(ep_ingest *ingest, ep_error *error) {
  int file = -1;
  ep_mapping unpacked = {0};
  ep_status status = temporary_create(ingest->folder, &file, error);
  if (status) return status;
  status = ep_gz_unpack(ingest->bytes, ingest->size, file, &ingest->budget_bytes, error);
  if (!status) status = ep_mapping_of(file, "the unpacked content", &unpacked, error);
  ingest->bytes = unpacked.bytes;
  ingest->size = unpacked.size;
  if (!status) status = ep_ingest_bytes(ingest, error);
  ep_mapping_close(&unpacked);
  close(file);
  return status;
}

static ep_status read_mapped(ep_mapping source, const char *folder,
                             const ep_ingest_options *options, int64_t max_output_bytes,
                             ep_dataset_meta *meta, ep_error *error) {
  hashing job;
  ep_ingest ingest = {.bytes = source.bytes,
                      .size = source.size,
                      .folder = folder,
                      .options = options ? *options : (ep_ingest_options){0},
                      .budget_bytes = max_output_bytes,
                      .meta = meta};
  meta->bytes = (int64_t)source.size;
  hash_start(&job, source, meta->sha256);
  ep_status status = ep_gz_recognise(source.bytes, source.size) ? packed_read(&ingest, error)
                                                                : ep_ingest_bytes(&ingest, error);
  hash_finish(&job);
  if (!status) status = ep_dataset_meta_write(folder, meta, error);
  return status;
}

ep_status ep_dataset_ingest(const char *source, const char *folder,
                            const ep_ingest_options *options, int64_t max_output_bytes,
                            ep_dataset_meta *out, ep_error *error) {
  ep_mapping mapping;
  *out = (ep_dataset_meta){0};
  ep_status status = ep_mapping_open(source, &mapping, error);
  if (status) return status;
  if (mapping.size == 0)
    status = ep_fail(error, EP_INVALID, "the content is empty");
  else
    status = read_mapped(mapping, folder, options, max_output_bytes, out, error);
  ep_mapping_close(&mapping);
  if (status) ep_dataset_meta_deinit(out);
  return status;
}
