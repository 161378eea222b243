/* The spec's ceilings, on both sides of each; and memory that runs out at every place. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/json/writer.h"
#include "api/spec/spec.h"
#include "tests/suite.h"

#define XOR "\"data\":{\"generator\":\"xor\"}"
#define MODEL "\"model\":{\"layers\":[{\"type\":\"linear\",\"out_features\":1}]}"
#define REST "\"loss\":\"mse\",\"epochs\":10"

/* before, then `count` times piece with `between` between them, then after. */
static char *repeated(const char *before, const char *piece, const char *between, int count,
                      const char *after) {
  ep_writer writer;
  ep_writer_init(&writer, 8 << 20);
  ep_writer_bytes(&writer, before, strlen(before));
  for (int i = 0; i < count; i++) {
    if (i) ep_writer_bytes(&writer, between, strlen(between));
    ep_writer_bytes(&writer, piece, strlen(piece));
  }
  ep_writer_bytes(&writer, after, strlen(after));
  char *text = ep_writer_take(&writer);
  ck_assert_ptr_nonnull(text);
  return text;
}

/* Parses and frees the text; the problem tells the rest. */
static ep_status parse_taken(char *text, ep_problem *problem) {
  *problem = (ep_problem){0};
  ep_job_spec *spec;
  ep_status status = ep_job_spec_parse(text, strlen(text), &spec, problem);
  ck_assert((status == EP_OK) == (spec != NULL));
  ep_job_spec_destroy(spec);
  free(text);
  return status;
}

START_TEST(errors) {
  ep_problem problem;
  const char *before = "{" XOR "," MODEL "," REST ",\"tags\":[", *after = "]}";
  char *text = repeated(before, "1", ",", EP_LIMIT_TAGS, after);
  ck_assert_int_eq(parse_taken(text, &problem), EP_INVALID);
  ck_assert_int_eq(problem.errors_count, EP_LIMIT_TAGS);
  text = repeated("{" MODEL "," REST ",\"data\":{\"inline\":{\"y\":[1],\"x\":[[1]", ",[]", "", 50,
                  "]}}}");
  ck_assert_int_eq(parse_taken(text, &problem), EP_INVALID);
  ck_assert_int_eq(problem.errors_count, EP_LIMIT_PROBLEM_ERRORS);
  ck_assert_str_eq(problem.errors[0].pointer, "/data/inline/x/1");
}
END_TEST

START_TEST(depth) {
  for (int deep = 0; deep < 2; deep++) {
    char brackets[2 * EP_LIMIT_JSON_DEPTH + 1] = "", text[256];
    size_t count = EP_LIMIT_JSON_DEPTH - 1 + (size_t)deep; /* the object around is one more */
    memset(brackets, '[', count);
    memset(brackets + count, ']', count);
    snprintf(text, sizeof text, "{\"name\":%s}", brackets);
    ep_problem problem;
    ck_assert_int_eq(parse_taken(strdup(text), &problem), EP_INVALID);
    if (deep)
      ck_assert_ptr_nonnull(strstr(problem.detail, "nested deeper than 32"));
    else
      ck_assert_str_eq(problem.errors[0].pointer, "/name");
  }
}
END_TEST

START_TEST(sizes) {
  ep_problem problem;
  const char *job = "{" XOR "," MODEL "," REST "}";
  int spaces = EP_LIMIT_SPEC_BYTES - (int)strlen(job);
  ck_assert_int_eq(parse_taken(repeated(job, " ", "", spaces, ""), &problem), EP_OK);
  ck_assert_int_eq(parse_taken(repeated(job, " ", "", spaces + 1, ""), &problem), EP_TOO_LARGE);
}
END_TEST

/* A text of `limit` bytes is taken, one of a byte more refused at `pointer`. */
static void assert_text_limit(const char *before, const char *after, int limit,
                              const char *pointer) {
  ep_problem problem;
  ck_assert_int_eq(parse_taken(repeated(before, "a", "", limit, after), &problem), EP_OK);
  ck_assert_int_eq(parse_taken(repeated(before, "a", "", limit + 1, after), &problem), EP_INVALID);
  ck_assert_str_eq(problem.errors[0].pointer, pointer);
}

START_TEST(texts) {
  assert_text_limit("{" XOR "," MODEL "," REST ",\"name\":\"", "\"}", EP_LIMIT_NAME_BYTES, "/name");
  assert_text_limit("{" XOR "," MODEL "," REST ",\"tags\":[\"", "\"]}", EP_LIMIT_NAME_BYTES,
                    "/tags/0");
  assert_text_limit("{" MODEL "," REST ",\"data\":{\"dataset\":\"", "\"}}", EP_LIMIT_NAME_BYTES,
                    "/data/dataset");
  assert_text_limit("{" MODEL "," REST ",\"data\":{\"dataset\":\"a\",\"target\":\"", "\"}}",
                    EP_LIMIT_NAME_BYTES, "/data/target");
  assert_text_limit("{" XOR "," MODEL "," REST ",\"executor\":\"cpu/", "\"}", 31 - 4, "/executor");
}
END_TEST

/* `limit` pieces are taken, one more is refused at `pointer`. */
static void assert_count_limit(const char *before, const char *piece, const char *after, int limit,
                               const char *pointer) {
  ep_problem problem;
  ck_assert_int_eq(parse_taken(repeated(before, piece, ",", limit, after), &problem), EP_OK);
  ck_assert_int_eq(parse_taken(repeated(before, piece, ",", limit + 1, after), &problem),
                   EP_INVALID);
  ck_assert_str_eq(problem.errors[0].pointer, pointer);
}

START_TEST(counts) {
  assert_count_limit("{" XOR "," REST ",\"model\":{\"layers\":[", "{\"type\":\"relu\"}", "]}}",
                     EP_LIMIT_LAYERS, "/model/layers");
  assert_count_limit("{" XOR "," MODEL "," REST ",\"tags\":[", "\"a\"", "]}", EP_LIMIT_TAGS,
                     "/tags");
  assert_count_limit("{" XOR "," MODEL "," REST ",\"webhooks\":[", "{\"url\":\"http://a\"}", "]}",
                     EP_LIMIT_WEBHOOKS, "/webhooks");
  assert_count_limit("{" MODEL "," REST ",\"data\":{\"inline\":{\"x\":[[", "1", "]],\"y\":[1]}}}",
                     EP_LIMIT_INLINE_VALUES, "/data/inline/x");
}
END_TEST

START_TEST(lists) {
  assert_count_limit("{" XOR "," MODEL
                     ",\"epochs\":1,\"loss\":{\"type\":\"nll\",\"class_weights\":[",
                     "1", "]}}", EP_LIMIT_CLASSES, "/loss/class_weights");
  for (int over = 0; over < 2; over++) {
    ep_writer writer;
    ep_writer_init(&writer, 1 << 20);
    const char *before =
        "{" XOR "," MODEL "," REST ",\"schedule\":{\"type\":\"multi_step\",\"milestones\":";
    ep_writer_bytes(&writer, before, strlen(before));
    ep_writer_open(&writer, '[');
    for (int i = 1; i <= EP_LIMIT_MILESTONES + over; i++) ep_writer_integer(&writer, i);
    ep_writer_close(&writer, ']');
    ep_writer_bytes(&writer, "}}", 2);
    ep_problem problem;
    ck_assert_int_eq(parse_taken(ep_writer_take(&writer), &problem), over ? EP_INVALID : EP_OK);
    if (over) ck_assert_str_eq(problem.errors[0].pointer, "/schedule/milestones");
  }
  assert_text_limit("{" MODEL "," REST ",\"data\":{\"path\":\"", "\"}}", EP_LIMIT_PATH_BYTES,
                    "/data/path");
}
END_TEST

#define BLOCK "{\"type\":\"residual\",\"layers\":["
#define RELU "{\"type\":\"relu\"}"

START_TEST(blocks) {
  const char *before = "{" XOR "," REST ",\"model\":{\"layers\":[", *after = "]}}";
  ep_problem problem;
  for (int levels = EP_LIMIT_RESIDUAL_DEPTH; levels <= EP_LIMIT_RESIDUAL_DEPTH + 1; levels++) {
    char *open = repeated(before, BLOCK, "", levels, RELU);
    char *text = repeated(open, "]}", "", levels, after);
    free(open);
    bool deep = levels > EP_LIMIT_RESIDUAL_DEPTH;
    ck_assert_int_eq(parse_taken(text, &problem), deep ? EP_INVALID : EP_OK);
    if (!deep) continue;
    ck_assert_str_eq(problem.errors[0].pointer,
                     "/model/layers/0/layers/0/layers/0/layers/0/layers/0/layers");
    ck_assert_ptr_nonnull(strstr(problem.errors[0].detail, "more than 4 residual blocks"));
  }
  /* The layers of all blocks count together. */
  for (int over = 0; over < 2; over++) {
    char *first = repeated(before, RELU, ",", 100, "," BLOCK);
    char *text = repeated(first, RELU, ",", EP_LIMIT_LAYERS - 101 + over, "]}]}}");
    free(first);
    ck_assert_int_eq(parse_taken(text, &problem), over ? EP_INVALID : EP_OK);
    if (over) ck_assert_str_eq(problem.errors[0].pointer, "/model/layers/100/layers");
  }
}
END_TEST

/* A field's name of any length cannot overrun its pointer. */
START_TEST(long_pointers) {
  ep_problem problem;
  const char *const pieces[] = {"k", "~", "/", "~k"};
  for (int i = 0; i < 4; i++)
    for (int count = 60; count < 300; count++) {
      char *text = repeated("{" XOR "," MODEL "," REST ",\"", pieces[i], "", count, "\":1}");
      ck_assert_int_eq(parse_taken(text, &problem), EP_INVALID);
      ck_assert_uint_lt(strlen(problem.errors[0].pointer), EP_POINTER_BYTES);
      ck_assert_int_eq(strncmp(problem.errors[0].pointer, "/", 1), 0);
    }
}
END_TEST

/* Allocations left before one fails; the linker sends this program's to the wrappers below. */
static long allocations_left = -1;

static bool allocation_fails(void) {
  if (allocations_left < 0) return false;
  if (allocations_left == 0) return true;
  allocations_left--;
  return false;
}

void *__real_malloc(size_t bytes);
void *__real_calloc(size_t count, size_t bytes);
void *__real_realloc(void *block, size_t bytes);
char *__real_strdup(const char *text);
void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes);
void *__wrap_realloc(void *block, size_t bytes);
char *__wrap_strdup(const char *text);
void *__wrap_malloc(size_t bytes) {
  return allocation_fails() ? NULL : __real_malloc(bytes);
}
void *__wrap_calloc(size_t count, size_t bytes) {
  return allocation_fails() ? NULL : __real_calloc(count, bytes);
}
void *__wrap_realloc(void *block, size_t bytes) {
  return allocation_fails() ? NULL : __real_realloc(block, bytes);
}
char *__wrap_strdup(const char *text) {
  return allocation_fails() ? NULL : __real_strdup(text);
}

/* Each allocation fails in turn until none does: never a crash or a leak, always a reason. The
 * second time jansson's fail too; it cannot tell want of memory from bad JSON, so either will do.
 */
START_TEST(memory) {
  static const char text[] =
      "{\"tags\":[\"a\",\"b\"],\"data\":{\"inline\":{\"x\":[[1,2],[3,4]],\"y\":[5,6]},"
      "\"normalize\":{\"mean\":[1,2],\"std\":3}},\"model\":{\"layers\":[{\"type\":\"residual\","
      "\"layers\":[{\"type\":\"relu\"}]}],\"freeze\":[0]},\"epochs\":10,"
      "\"schedule\":{\"type\":\"multi_step\",\"milestones\":[1,2]},"
      "\"loss\":{\"type\":\"nll\",\"class_weights\":[1,2]}}";
  if (_i) json_set_alloc_funcs(__wrap_malloc, free);
  int failures = 0;
  for (long allowed = 0;; allowed++) {
    ck_assert_int_lt(allowed, 10000);
    ep_problem problem = {0};
    ep_job_spec *spec;
    allocations_left = allowed;
    ep_status status = ep_job_spec_parse(text, sizeof text - 1, &spec, &problem);
    char *written = spec ? ep_job_spec_format(spec) : NULL;
    allocations_left = -1;
    ck_assert_int_eq(status, problem.status);
    if (!spec) {
      ck_assert_msg(status == EP_NO_MEMORY || (_i && status == EP_MALFORMED), "after %ld: %s",
                    allowed, problem.detail);
      failures++;
      continue;
    }
    ep_job_spec_destroy(spec);
    if (!written) continue;
    free(written);
    break;
  }
  ck_assert_int_ge(failures, _i ? 60 : 12); /* the wrappers were in use */
  json_set_alloc_funcs(malloc, free);
}
END_TEST

EP_SUITE("api/spec limits") {
  TCase *tests = ep_suite_case(suite, "limits");
  tcase_add_test(tests, errors);
  tcase_add_test(tests, depth);
  tcase_add_test(tests, sizes);
  tcase_add_test(tests, texts);
  tcase_add_test(tests, counts);
  tcase_add_test(tests, lists);
  tcase_add_test(tests, blocks);
  tcase_add_test(tests, long_pointers);
  tcase_add_loop_test(tests, memory, 0, 2);
}
