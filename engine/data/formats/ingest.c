#include "engine/data/formats/ingest.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "engine/data/datasets/meta.h"
#include "engine/data/formats/gz.h"
#include "engine/files/content.h"
#include "engine/files/durable_file.h"
#include "engine/files/mapping.h"
#include "engine/files/temporary_file.h"
#include "engine/files/verified.h"

/* Asked in this order: any text looks like a CSV, and any ZIP like an NPZ. */
static const ep_format *const formats[] = {
    &ep_format_npy, &ep_format_pictures, &ep_format_npz, &ep_format_safetensors,
    &ep_format_idx, &ep_format_json,     &ep_format_csv};

/* Reads bytes that are of some format; what they are packed around is left in ingest->inside. */
static ep_status content_read(ep_ingest *ingest, ep_error *error) {
  ep_status status = ep_content_refuse(ingest->bytes, ingest->size, error);
  if (status != EP_OK) return status;
  for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
    if (!formats[i]->recognise(ingest->bytes, ingest->size)) continue;
    if (ingest->options.table && formats[i] != &ep_format_json)
      return ep_fail(error, EP_INVALID, "?table= selects a table of a JSON object: this is %s",
                     formats[i]->name);
    snprintf(ingest->meta->format, sizeof ingest->meta->format, "%s", formats[i]->name);
    return formats[i]->read(ingest, error);
  }
  if (ep_gz_recognise(ingest->bytes, ingest->size))
    return ep_fail(error, EP_MEDIA_TYPE, "nested gzip is not supported");
  return ep_fail(error, EP_MEDIA_TYPE,
                 "unknown format: supported are CSV, JSON, NPY, NPZ, IDX, safetensors, a ZIP of "
                 "one CSV or JSON file, and a ZIP or TAR of pictures, each also gzipped");
}

ep_status ep_ingest_bytes(ep_ingest *ingest, ep_error *error) {
  ingest->inside = (ep_mapping){0};
  ep_status status = content_read(ingest, error);
  ep_mapping inside = ingest->inside;
  if (status == EP_OK && inside.bytes) {
    ingest->bytes = inside.bytes;
    ingest->size = inside.size;
    status = content_read(ingest, error);
    if (status == EP_OK && ingest->inside_name[0])
      ep_notes_add(&ingest->meta->notes, "only \"%s\" of the archive is read", ingest->inside_name);
  }
  ep_mapping_close(&inside);
  return status;
}

/* Unpacks and reads; the unpacked bytes are gone afterwards. */
static ep_status packed_read(ep_ingest *ingest, ep_error *error) {
  int file = -1;
  ep_mapping unpacked = {0};
  ep_status status = ep_temporary_file_create(ingest->folder, &file, error);
  if (status != EP_OK) return status;
  status = ep_gz_unpack(ingest->bytes, ingest->size, file, &ingest->budget_bytes, error);
  if (status == EP_OK) status = ep_mapping_of(file, "the unpacked content", &unpacked, error);
  ingest->bytes = unpacked.bytes;
  ingest->size = unpacked.size;
  if (status == EP_OK) status = ep_ingest_bytes(ingest, error);
  ep_mapping_close(&unpacked);
  close(file);
  return status;
}

/* Reads the source into the folder; ingest->meta gets all but what is known of parts alone. */
static ep_status read_mapped(ep_mapping source, ep_ingest *ingest, ep_error *error) {
  ingest->bytes = source.bytes;
  ingest->size = source.size;
  ingest->mapped = true;
  ingest->meta->bytes = (int64_t)source.size;
  return ep_gz_recognise(source.bytes, source.size) ? packed_read(ingest, error)
                                                    : ep_ingest_bytes(ingest, error);
}

ep_status ep_dataset_sha256(const ep_ingest_options *options, char sha256[EP_SHA256_HEX_BYTES],
                            ep_error *error) {
  enum { TEXT_BYTES = EP_SHA256_HEX_BYTES + EP_LIMIT_NAME_BYTES + 128 };
  char text[TEXT_BYTES], value[EP_DIALECT_VALUE_BYTES];
  ep_sha256 hash;
  const char *table = options->table ? options->table : "";
  const ep_dialect *dialect = &options->dialect;
  if (dialect->set == 0 && !options->height && !options->channels && !*table &&
      !options->skip_broken)
    return EP_OK;
  ep_status status = ep_sha256_init(&hash, error);
  if (status != EP_OK) return status;
  int bytes = snprintf(text, sizeof text, "%s size=%dx%d channels=%d table=%s%s", sha256,
                       options->height, options->width, options->channels, table,
                       options->skip_broken ? " broken=skip" : "");
  ep_sha256_update(&hash, text, (size_t)bytes < sizeof text ? (size_t)bytes : sizeof text - 1);
  for (ep_dialect_key key = 0; key < EP_DIALECT_KEYS; key++) {
    if (!ep_dialect_has(dialect, key)) continue;
    ep_sha256_update(&hash, ep_dialect_key_name(key), strlen(ep_dialect_key_name(key)) + 1);
    ep_dialect_value(dialect, key, value);
    ep_sha256_update(&hash, value, strlen(value) + 1);
  }
  ep_sha256_final(&hash, sha256);
  return EP_OK;
}

static ep_status source_read(int source, ep_ingest *ingest, ep_error *error) {
  ep_mapping mapping;
  const char *known = ingest->options.sha256;
  ep_dataset_meta *meta = ingest->meta;
  *meta = (ep_dataset_meta){0};
  ep_status status = EP_OK;
  if (known)
    snprintf(meta->sha256, sizeof meta->sha256, "%s", known);
  else
    status = ep_file_sha256(source, "the upload", meta->sha256, error);
  if (status == EP_OK) status = ep_mapping_of(source, "the upload", &mapping, error);
  if (status != EP_OK) return status;
  if (mapping.size == 0)
    status = ep_fail(error, EP_INVALID, "the content is empty");
  else
    status = read_mapped(mapping, ingest, error);
  ep_mapping_close(&mapping);
  memcpy(meta->file_sha256, meta->sha256, sizeof meta->file_sha256);
  if (status == EP_OK) status = ep_dataset_sha256(&ingest->options, meta->sha256, error);
  if (strcmp(meta->file_sha256, meta->sha256) == 0) meta->file_sha256[0] = 0;
  if (status == EP_OK && ingest->role != EP_ROLE_TABLE) { /* one part: its hash is the upload's */
    meta->file_sha256[0] = 0;                             /* no file is all of the dataset */
    ep_part *part = &meta->part[ingest->split][ingest->role];
    memcpy(part->sha256, meta->sha256, sizeof part->sha256);
    part->bytes = meta->bytes;
  }
  if (status == EP_OK) status = ep_dataset_meta_write(ingest->folder, meta, error);
  if (status != EP_OK) ep_dataset_meta_deinit(meta);
  return status;
}

ep_status ep_dataset_ingest(int source, const char *folder, const ep_ingest_options *options,
                            int64_t max_output_bytes, ep_dataset_meta *out, ep_error *error) {
  ep_ingest ingest = {.folder = folder,
                      .options = options ? *options : (ep_ingest_options){0},
                      .budget_bytes = max_output_bytes,
                      .meta = out};
  return source_read(source, &ingest, error);
}

ep_status ep_dataset_ingest_part(int source, const char *folder, ep_split split, ep_role role,
                                 const ep_ingest_options *options, int64_t max_output_bytes,
                                 ep_dataset_meta *out, ep_error *error) {
  assert(split < EP_SPLIT_COUNT && (role == EP_ROLE_X || role == EP_ROLE_Y));
  ep_ingest ingest = {.folder = folder,
                      .options = options ? *options : (ep_ingest_options){0},
                      .budget_bytes = max_output_bytes,
                      .split = split,
                      .role = role,
                      .meta = out};
  return source_read(source, &ingest, error);
}
