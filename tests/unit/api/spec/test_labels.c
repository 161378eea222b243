/* Tests of api/spec/labels.c: what a PATCH may say, and a spec with other labels. */
#include "api/spec/labels.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/spec/spec.h"
#include "tests/suite.h"

static ep_status labels_read(const char *text, ep_labels *labels, ep_problem *problem) {
  *problem = (ep_problem){0};
  return ep_labels_parse(text, strlen(text), labels, problem);
}

START_TEST(reads_any_part) {
  ep_labels labels;
  ep_problem problem;
  ck_assert_int_eq(labels_read("{}", &labels, &problem), EP_OK);
  ck_assert(!labels.has_name && !labels.has_tags && !labels.has_priority);
  ck_assert_int_eq(labels_read("{\"name\": \"a\\u00e9\"}", &labels, &problem), EP_OK);
  ck_assert(labels.has_name && !labels.has_tags && !labels.has_priority);
  ck_assert_str_eq(labels.name, "a\xc3\xa9");
  ck_assert_int_eq(labels_read("{\"name\": null, \"priority\": -100}", &labels, &problem), EP_OK);
  ck_assert(labels.has_name && labels.name[0] == 0);
  ck_assert(labels.has_priority && labels.priority == -100);
  ck_assert_int_eq(labels_read("{\"tags\": [\"b\", \"\\\"\"]}", &labels, &problem), EP_OK);
  ck_assert_str_eq(labels.tags, "[\"b\",\"\\\"\"]");
  ep_labels_deinit(&labels);
  ck_assert_int_eq(labels_read("{\"tags\": []}", &labels, &problem), EP_OK);
  ck_assert_str_eq(labels.tags, "[]");
  ep_labels_deinit(&labels);
}
END_TEST

START_TEST(refuses_all_else_with_its_pointer) {
  static const struct {
    const char *text, *pointer;
    ep_status status;
  } faults[] = {
      {"{\"name\": 5}", "/name", EP_INVALID},
      {"{\"name\": \"a\\u0007\"}", "/name", EP_INVALID},
      {"{\"name\": \"a\\u200f\"}", "/name", EP_INVALID},
      {"{\"tags\": [\"\\ufeffa\"]}", "/tags/0", EP_INVALID},
      {"{\"tags\": null}", "/tags", EP_INVALID},
      {"{\"tags\": \"a\"}", "/tags", EP_INVALID},
      {"{\"tags\": [\"a\", \"\"]}", "/tags/1", EP_INVALID},
      {"{\"tags\": [\"a\", 3]}", "/tags/1", EP_INVALID},
      {"{\"priority\": 101}", "/priority", EP_INVALID},
      {"{\"priority\": -101}", "/priority", EP_INVALID},
      {"{\"priority\": 1.5}", "/priority", EP_INVALID},
      {"{\"priority\": null}", "/priority", EP_INVALID},
      {"{\"pinned\": null}", "/pinned", EP_INVALID},
      {"{\"pinned\": 1}", "/pinned", EP_INVALID},
      {"{\"epochs\": 5}", "/epochs", EP_INVALID},
      {"[]", "", EP_INVALID},
      {"null", "", EP_INVALID},
      {"{\"name\": \"a\", \"name\": \"b\"}", NULL, EP_MALFORMED},
      {"{", NULL, EP_MALFORMED},
      {"", NULL, EP_MALFORMED},
  };
  ep_labels labels;
  ep_problem problem;
  for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
    ck_assert_msg(labels_read(faults[i].text, &labels, &problem) == faults[i].status, "%s: %s",
                  faults[i].text, problem.detail);
    ck_assert_ptr_null(labels.tags);
    if (faults[i].pointer) ck_assert_str_eq(problem.errors[0].pointer, faults[i].pointer);
  }
  ck_assert_int_eq(labels_read("{\"name\": 1, \"tags\": 2, \"prio\": 3}", &labels, &problem),
                   EP_INVALID);
  ck_assert_int_eq(problem.errors_count, 3);
}
END_TEST

START_TEST(holds_the_limits) {
  char text[EP_LIMIT_LABELS_BYTES + 64], name[EP_LIMIT_NAME_BYTES + 2];
  ep_labels labels;
  ep_problem problem;
  memset(name, 'n', sizeof name);
  for (int more = 0; more < 2; more++) {
    snprintf(text, sizeof text, "{\"name\": \"%.*s\"}", EP_LIMIT_NAME_BYTES + more, name);
    ck_assert_int_eq(labels_read(text, &labels, &problem), more ? EP_INVALID : EP_OK);
    int used = snprintf(text, sizeof text, "{\"tags\": [\"%.*s\"", EP_LIMIT_NAME_BYTES, name);
    for (int i = 1; i < EP_LIMIT_TAGS + more; i++)
      used += snprintf(text + used, sizeof text - (size_t)used, ",\"%d\"", i);
    snprintf(text + used, sizeof text - (size_t)used, "]}");
    ck_assert_int_eq(labels_read(text, &labels, &problem), more ? EP_INVALID : EP_OK);
    ep_labels_deinit(&labels);
    size_t bytes = EP_LIMIT_LABELS_BYTES + (size_t)more;
    memset(text, ' ', bytes);
    memcpy(text, "{}", 2);
    text[bytes] = 0;
    ck_assert_int_eq(labels_read(text, &labels, &problem), more ? EP_TOO_LARGE : EP_OK);
  }
}
END_TEST

static const char spec_text[] =
    "{\"name\": \"}\\\"],{\", \"tags\": [\"a,\\\"}\"], \"data\": {\"inline\": {\"x\": [[0.1], [2]],"
    " \"y\": [0, 1]}}, \"model\": {\"layers\": [{\"type\": \"linear\", \"out_features\": 1}]},"
    " \"loss\": \"mse\", \"epochs\": 3}";

static char *spec_normal(void) {
  ep_job_spec *spec;
  ep_problem problem = {0};
  ck_assert_msg(ep_job_spec_parse(spec_text, sizeof spec_text - 1, &spec, &problem) == EP_OK, "%s",
                problem.detail);
  char *text = ep_job_spec_format(spec);
  ep_job_spec_destroy(spec);
  ck_assert_ptr_nonnull(text);
  return text;
}

/* The spec with other labels reads back, and what is behind the labels is the same to the byte. */
START_TEST(changes_the_labels_of_a_spec_alone) {
  char *spec = spec_normal(), *changed = NULL;
  ep_labels labels;
  ep_problem problem;
  ep_error error = {0};
  ck_assert_int_eq(labels_read("{}", &labels, &problem), EP_OK);
  ck_assert_int_eq(ep_labels_apply(spec, &labels, &changed, &error), EP_OK);
  ck_assert_str_eq(changed, spec);
  free(changed);
  ck_assert_int_eq(labels_read("{\"name\": \"\\\"b\", \"tags\": [\"]\", \"c\"], \"priority\": 9}",
                               &labels, &problem),
                   EP_OK);
  ck_assert_int_eq(ep_labels_apply(spec, &labels, &changed, &error), EP_OK);
  ck_assert_str_eq(strstr(changed, ",\"data\":"), strstr(spec, ",\"data\":"));
  ep_job_spec *read;
  ck_assert_int_eq(ep_job_spec_parse(changed, strlen(changed), &read, &problem), EP_OK);
  ck_assert_str_eq(read->name, "\"b");
  ck_assert(read->tags_count == 2 && read->priority == 9);
  ck_assert_str_eq(read->tags[0], "]");
  ep_job_spec_destroy(read);
  ep_labels_deinit(&labels);
  free(changed);
  free(spec);
}
END_TEST

/* Of an earlier release, which had no such label. */
START_TEST(a_spec_without_pinned_gets_it) {
  ep_labels labels = {.has_pinned = true, .pinned = true};
  char *out = NULL;
  ck_assert_int_eq(ep_labels_apply("{\"priority\":0,\"epochs\":3}", &labels, &out, NULL), EP_OK);
  ck_assert_str_eq(out, "{\"priority\":0,\"epochs\":3,\"pinned\":true}");
  free(out);
  ck_assert_int_eq(ep_labels_apply("{\"pinned\":false,\"epochs\":3}", &labels, &out, NULL), EP_OK);
  ck_assert_str_eq(out, "{\"pinned\":true,\"epochs\":3}");
  free(out);
}
END_TEST

START_TEST(of_a_dataset_visibility_alone_is_changed) {
  ep_labels labels;
  static const struct {
    const char *text, *pointer;
    ep_status status;
  } faults[] = {{"{\"visibility\":\"hidden\"}", "/visibility", EP_INVALID},
                {"{\"visibility\":null}", "/visibility", EP_INVALID},
                {"{\"name\":\"a\"}", "/name", EP_INVALID},
                {"[]", "", EP_INVALID},
                {"{", NULL, EP_MALFORMED}};
  ep_problem problem = {0};
  ck_assert_int_eq(ep_visibility_patch_parse("{}", 2, &labels, &problem), EP_OK);
  ck_assert(!labels.has_visibility);
  static const char PRIVATE[] = "{\"visibility\":\"private\"}",
                    PUBLIC[] = "{\"visibility\":\"public\"}";
  ck_assert_int_eq(ep_visibility_patch_parse(PRIVATE, sizeof PRIVATE - 1, &labels, &problem),
                   EP_OK);
  ck_assert(labels.has_visibility && labels.private && !labels.has_name && !labels.tags);
  ck_assert_int_eq(ep_visibility_patch_parse(PUBLIC, sizeof PUBLIC - 1, &labels, &problem), EP_OK);
  ck_assert(labels.has_visibility && !labels.private);
  for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
    problem = (ep_problem){0};
    ck_assert_int_eq(
        ep_visibility_patch_parse(faults[i].text, strlen(faults[i].text), &labels, &problem),
        faults[i].status);
    if (faults[i].pointer) ck_assert_str_eq(problem.errors[0].pointer, faults[i].pointer);
  }
}
END_TEST

START_TEST(visibility_is_a_label) {
  ep_labels labels;
  ep_problem problem = {0};
  static const char PRIVATE[] = "{\"visibility\":\"private\"}", NOT[] = "{\"visibility\":true}";
  char *out = NULL;
  ck_assert_int_eq(ep_labels_parse(PRIVATE, sizeof PRIVATE - 1, &labels, &problem), EP_OK);
  ck_assert(labels.has_visibility && labels.private && !labels.has_pinned);
  ck_assert_int_eq(ep_labels_apply("{\"visibility\":\"public\",\"epochs\":3}", &labels, &out, NULL),
                   EP_OK);
  ck_assert_str_eq(out, "{\"visibility\":\"private\",\"epochs\":3}");
  free(out);
  ck_assert_int_eq(ep_labels_apply("{\"epochs\":3}", &labels, &out, NULL), EP_OK);
  ck_assert_str_eq(out, "{\"epochs\":3,\"visibility\":\"private\"}");
  free(out);
  ck_assert_int_eq(ep_labels_parse(NOT, sizeof NOT - 1, &labels, &problem), EP_INVALID);
  ck_assert_str_eq(problem.errors[0].pointer, "/visibility");
}
END_TEST

/* An earlier version took characters that do not show; its jobs train, are shown and predict. */
START_TEST(stored_labels_are_read_as_they_are) {
  static const char stored[] =
      "{\"name\": \"a\\u202eb\", \"tags\": [\"c\\u0085\"], \"data\": {\"generator\": \"xor\"}, "
      "\"loss\": \"mse\", \"epochs\": 1, \"model\": {\"layers\": [{\"type\": \"linear\", "
      "\"out_features\": 1}]}}";
  ep_job_spec *spec;
  ep_problem problem = {0};
  ck_assert_int_eq(ep_job_spec_parse(stored, sizeof stored - 1, &spec, &problem), EP_INVALID);
  ck_assert_int_eq(problem.errors_count, 2);
  problem = (ep_problem){0};
  ck_assert_int_eq(ep_job_spec_load(stored, sizeof stored - 1, &spec, NULL), EP_OK);
  ck_assert_str_eq(spec->name, "a\xe2\x80\xae"
                               "b");
  ck_assert_str_eq(spec->tags[0], "c\xc2\x85");
  ep_job_spec_destroy(spec);
  static const char control[] = "{\"name\": \"a\\u0001\"}";
  ck_assert_int_eq(ep_job_spec_load(control, sizeof control - 1, &spec, NULL), EP_INVALID);
}
END_TEST

START_TEST(a_torn_spec_is_refused) {
  static const char *const torn[] = {"",          "[1]",   "{\"a\":1", "{\"a\":\"",
                                     "{\"a\":[1", "{a:1}", "{1"};
  ep_labels labels = {0};
  for (size_t i = 0; i < sizeof torn / sizeof *torn; i++) {
    char *out = NULL;
    ck_assert_msg(ep_labels_apply(torn[i], &labels, &out, NULL) == EP_INTERNAL, "%s", torn[i]);
    ck_assert_ptr_null(out);
  }
}
END_TEST

EP_SUITE("labels") {
  TCase *tests = ep_suite_case(suite, "labels");
  tcase_add_test(tests, reads_any_part);
  tcase_add_test(tests, refuses_all_else_with_its_pointer);
  tcase_add_test(tests, holds_the_limits);
  tcase_add_test(tests, changes_the_labels_of_a_spec_alone);
  tcase_add_test(tests, a_spec_without_pinned_gets_it);
  tcase_add_test(tests, visibility_is_a_label);
  tcase_add_test(tests, of_a_dataset_visibility_alone_is_changed);
  tcase_add_test(tests, stored_labels_are_read_as_they_are);
  tcase_add_test(tests, a_torn_spec_is_refused);
}
