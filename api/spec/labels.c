#include "api/spec/labels.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/dataset_name.h"
#include "api/json/json.h"
#include "api/json/scanner.h"
#include "api/spec/spec.h"
#include "api/spec/tables.h"
#include "api/visibility.h"

/* EP_LIMIT_TAGS tags, every byte of them escaped; and a spec of the greatest size. */
enum { TAGS_TEXT_LIMIT = 1 << 20, SPEC_TEXT_LIMIT = 17 * EP_LIMIT_SPEC_BYTES };

char *ep_tags_format(const char *const *tags, int count) {
  ep_writer writer;
  ep_writer_init(&writer, TAGS_TEXT_LIMIT);
  ep_writer_open(&writer, '[');
  for (int i = 0; i < count; i++) ep_writer_string(&writer, tags[i]);
  ep_writer_close(&writer, ']');
  return ep_writer_take(&writer);
}

void ep_labels_name(ep_job_spec *labels, const ep_data_spec *data) {
  char name[EP_LIMIT_NAME_BYTES + 1] = "";
  if (labels->name[0]) return;
  switch (data->source) {
  case EP_DATA_DATASET: memcpy(name, data->dataset, sizeof name); break;
  case EP_DATA_GENERATOR:
    snprintf(name, sizeof name, "%s", ep_generator_name(data->generator));
    break;
  case EP_DATA_PATH: ep_dataset_name_of_file(data->path, name); break;
  case EP_DATA_INLINE: break;
  }
  /* "last" is a dataset's name, but stands for another job */
  const char *before = !name[0] || ep_job_name_accepts(name) ? "" : "data-";
  snprintf(labels->name, sizeof labels->name, "%s%.*s", before,
           (int)(sizeof labels->name - strlen(before) - 1), name);
}

void ep_labels_deinit(ep_labels *labels) {
  free(labels->tags);
  *labels = (ep_labels){0};
}

/* Copies what root names out of the spec that it was read into. */
static ep_status labels_take(const json_t *root, const ep_job_spec *spec, ep_labels *out,
                             ep_problem *problem) {
  out->has_name = json_object_get(root, "name") != NULL;
  out->has_tags = json_object_get(root, "tags") != NULL;
  out->has_priority = json_object_get(root, "priority") != NULL;
  memcpy(out->name, spec->name, sizeof out->name);
  out->has_notes = json_object_get(root, "notes") != NULL;
  memcpy(out->notes, spec->notes, sizeof out->notes);
  out->has_pinned = json_object_get(root, "pinned") != NULL;
  out->priority = spec->priority;
  out->pinned = spec->pinned;
  out->has_visibility = spec->visibility_given;
  out->private = spec->private;
  if (!out->has_tags) return EP_OK;
  out->tags = ep_tags_format((const char *const *)spec->tags, spec->tags_count);
  return out->tags ? EP_OK : ep_problem_fail_memory(problem);
}

/* A name of null is none. */
static bool name_clear(json_t *root) {
  return !json_is_null(json_object_get(root, "name")) ||
         json_object_set_new(root, "name", json_string("")) == 0;
}

/* Reads an object of the table's fields; members: their names, for who sends something else. */
static ep_status patch_parse(const char *text, size_t bytes, const ep_field_table *table,
                             const char *members, ep_labels *out, ep_problem *problem) {
  json_t *root;
  ep_error error;
  *out = (ep_labels){0};
  if (ep_json_load(text, bytes, EP_LIMIT_LABELS_BYTES, &root, &error) != EP_OK)
    return ep_problem_set(problem, error.status, "%s", error.message);
  ep_field_reader reader = {.problem = problem};
  ep_job_spec *spec = calloc(1, sizeof *spec);
  if (!spec || !name_clear(root))
    ep_field_reader_fail_memory(&reader);
  else if (!json_is_object(root))
    ep_field_reader_fail(&reader, "must be an object with %s, not %s", members,
                         ep_json_type_name(root));
  else
    ep_fields_read(&reader, table, NULL, root, spec);
  ep_status status = reader.status;
  if (status == EP_OK) status = labels_take(root, spec, out, problem);
  json_decref(root);
  ep_job_spec_destroy(spec);
  return status;
}

ep_status ep_labels_parse(const char *text, size_t bytes, ep_labels *out, ep_problem *problem) {
  return patch_parse(text, bytes, &ep_label_table,
                     "name, tags, notes, priority, pinned or visibility", out, problem);
}

ep_status ep_visibility_patch_parse(const char *text, size_t bytes, ep_labels *out,
                                    ep_problem *problem) {
  return patch_parse(text, bytes, &ep_visibility_table, "visibility", out, problem);
}

/* Writes the member `key`, whose text is [at, end), as it is, or with its new value. */
static void member_write(ep_writer *writer, const char *key, const char *at, const char *end,
                         const ep_labels *labels) {
  if (labels->has_name && strcmp(key, "name") == 0) {
    ep_writer_member_string(writer, "name", labels->name);
  } else if (labels->has_notes && strcmp(key, "notes") == 0) {
    ep_writer_member_string(writer, "notes", labels->notes[0] ? labels->notes : NULL);
  } else if (labels->has_tags && strcmp(key, "tags") == 0) {
    ep_writer_member_raw(writer, "tags", labels->tags);
  } else if (labels->has_priority && strcmp(key, "priority") == 0) {
    ep_writer_member_integer(writer, "priority", labels->priority);
  } else if (labels->has_pinned && strcmp(key, "pinned") == 0) {
    ep_writer_member_boolean(writer, "pinned", labels->pinned);
  } else if (labels->has_visibility && strcmp(key, "visibility") == 0) {
    ep_writer_member_string(writer, "visibility", ep_visibility_name(labels->private));
  } else {
    if (writer->count > 1) ep_writer_bytes(writer, ",", 1);
    ep_writer_bytes(writer, at, (size_t)(end - at));
  }
}

ep_status ep_labels_apply(const char *spec, const ep_labels *labels, char **out, ep_error *error) {
  ep_writer writer;
  ep_scanner scanner = {spec, spec + strlen(spec)};
  bool whole = ep_scan_token(&scanner, '{'), pinned = false, visibility = false, notes = false;
  ep_writer_init(&writer, SPEC_TEXT_LIMIT);
  ep_writer_open(&writer, '{');
  while (whole && ep_scan_peek(&scanner) != '}') {
    char key[64];
    const char *at = scanner.at;
    whole = ep_scan_string(&scanner, key, sizeof key) && ep_scan_token(&scanner, ':') &&
            ep_scan_skip(&scanner);
    if (!whole) break;
    member_write(&writer, key, at, scanner.at, labels);
    pinned = pinned || strcmp(key, "pinned") == 0;
    notes = notes || strcmp(key, "notes") == 0;
    visibility = visibility || strcmp(key, "visibility") == 0;
    whole = ep_scan_token(&scanner, ',') || ep_scan_peek(&scanner) == '}';
  }
  if (labels->has_pinned && !pinned) /* a spec of an earlier release */
    ep_writer_member_boolean(&writer, "pinned", labels->pinned);
  if (labels->has_notes && !notes)
    ep_writer_member_string(&writer, "notes", labels->notes[0] ? labels->notes : NULL);
  if (labels->has_visibility && !visibility)
    ep_writer_member_string(&writer, "visibility", ep_visibility_name(labels->private));
  ep_writer_close(&writer, '}');
  *out = ep_writer_take(&writer);
  if (whole && *out) return EP_OK;
  free(*out);
  *out = NULL;
  return whole ? ep_fail_memory(error)
               : ep_fail(error, EP_INTERNAL, "the stored spec is not an object");
}
