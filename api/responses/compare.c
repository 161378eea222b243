#include "api/responses/compare.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "api/json/number.h"
#include "api/responses/curve.h"
#include "api/responses/differences.h"
#include "api/wire/result.h"

/* EP_LIMIT_COMPARED_JOBS curves of EP_LIMIT_COMPARED_POINTS points of 6 figures are 40 MB. */
#define TEXT_LIMIT (256LL << 20)

static ep_status differences_of(const ep_compared_job *jobs, int count, ep_differences *out,
                                ep_error *error) {
  const char *specs[EP_LIMIT_COMPARED_JOBS] = {NULL};
  for (int i = 0; i < count; i++) specs[i] = jobs[i].job->spec;
  return ep_differences_find(specs, count, out, error);
}

static void differences_write(ep_writer *writer, const ep_differences *differences) {
  ep_writer_member_open(writer, "differences", '[');
  for (int i = 0; i < differences->count; i++) {
    const ep_difference *row = &differences->rows[i];
    ep_writer_open(writer, '{');
    ep_writer_member_string(writer, "pointer", row->pointer);
    ep_writer_member_open(writer, "values", '[');
    for (int j = 0; j < differences->specs_count; j++) ep_spec_value_write(writer, row->values[j]);
    ep_writer_close(writer, ']');
    ep_writer_close(writer, '}');
  }
  ep_writer_close(writer, ']');
  ep_writer_member_integer(writer, "differences_omitted", differences->omitted);
}

static const ep_difference *difference_find(const ep_differences *differences,
                                            const char *pointer) {
  for (int i = 0; i < differences->count; i++)
    if (strcmp(differences->rows[i].pointer, pointer) == 0) return &differences->rows[i];
  return NULL;
}

/* Whether two jobs name different ones: who names none takes the last column, which may be one that
 * another names. */
static bool names_differ(const ep_difference *row, int count) {
  const json_t *first = NULL;
  for (int i = 0; row && i < count; i++) {
    const json_t *value = row->values[i];
    if (!value || json_is_null(value)) continue;
    if (first && !json_equal(first, value)) return true;
    first = value;
  }
  return false;
}

/* Metrics of different columns are not of one scale, nor are those of different data. */
static void warnings_write(ep_writer *writer, const ep_differences *differences) {
  const ep_difference *row = difference_find(differences, "/data/target");
  const bool columns = names_differ(row, differences->specs_count);
  char text[1024];
  if (!columns) row = difference_find(differences, "/data/dataset");
  if (!columns && !row) row = difference_find(differences, "/data/path");
  ep_writer_member_open(writer, "warnings", '[');
  int used = snprintf(text, sizeof text, "%s",
                      columns ? "the jobs predict different columns, so their metrics are not "
                                "comparable:"
                              : "the jobs train on different data, so their metrics may not be "
                                "comparable:");
  for (int i = 0; row && i < differences->specs_count && used < (int)sizeof text; i++) {
    const json_t *value = row->values[i];
    char number[24];
    const char *word = json_string_value(value);
    snprintf(number, sizeof number, "%lld", (long long)json_integer_value(value));
    if (!word) word = json_is_integer(value) ? number : columns ? "the last one" : "other data";
    used += snprintf(text + used, sizeof text - (size_t)used, "%s %.100s", i > 0 ? "," : "", word);
  }
  if (row)
    ep_writer_string(writer, text);
  else if (difference_find(differences, "/data/sha256"))
    ep_writer_string(writer, "the jobs train on different rows under one name, so their metrics "
                             "may not be comparable");
  ep_writer_close(writer, ']');
}

static void curves_write(ep_writer *writer, const ep_compared_job *jobs, int count) {
  ep_writer_member_open(writer, "curves", '[');
  for (int i = 0; i < count; i++) {
    ep_writer_open(writer, '{');
    ep_writer_member_string(writer, "job", jobs[i].job->id);
    ep_curve_columns_write(writer, jobs[i].points, jobs[i].points_count);
    ep_writer_close(writer, '}');
  }
  ep_writer_close(writer, ']');
}

static ep_status text_take(ep_writer *writer, char **out, ep_error *error) {
  *out = ep_writer_take(writer);
  return *out ? EP_OK : ep_fail_memory(error);
}

ep_status ep_comparison_format_json(const ep_compared_job *jobs, int count, char **out,
                                    ep_error *error) {
  ep_differences differences;
  ep_writer writer;
  *out = NULL;
  ep_status status = differences_of(jobs, count, &differences, error);
  if (status != EP_OK) return status;
  ep_writer_init(&writer, TEXT_LIMIT);
  ep_writer_open(&writer, '{');
  ep_writer_member_string(&writer, "object", "comparison");
  ep_writer_member_open(&writer, "jobs", '[');
  for (int i = 0; i < count; i++) ep_job_compared_write(&writer, jobs[i].job);
  ep_writer_close(&writer, ']');
  differences_write(&writer, &differences);
  warnings_write(&writer, &differences);
  curves_write(&writer, jobs, count);
  ep_writer_close(&writer, '}');
  ep_differences_deinit(&differences);
  return text_take(&writer, out, error);
}

/* A cell of text; one that would begin a formula in a spreadsheet gets a ' before it. */
static void text_cell_write(ep_writer *writer, const char *text) {
  if (!text) return;
  bool formula = *text && strchr("=+-@\t\r", *text);
  bool quoted = strpbrk(text, "\",\r\n") != NULL;
  if (quoted) ep_writer_bytes(writer, "\"", 1);
  if (formula) ep_writer_bytes(writer, "'", 1);
  for (; *text; text++) {
    if (*text == '"') ep_writer_bytes(writer, "\"", 1);
    ep_writer_bytes(writer, text, 1);
  }
  if (quoted) ep_writer_bytes(writer, "\"", 1);
}

/* Infinities as Python, R and spreadsheets read them; nothing for NaN. */
static void number_cell_write(ep_writer *writer, double value) {
  char text[EP_NUMBER_BYTES];
  if (isnan(value)) return;
  if (isinf(value))
    ep_writer_bytes(writer, value > 0 ? "inf" : "-inf", value > 0 ? 3 : 4);
  else
    ep_writer_bytes(writer, text, ep_number_format(value, text));
}

static void separate(ep_writer *writer) {
  ep_writer_bytes(writer, ",", 1);
}

/* A value of a spec: numbers and words as they are, the rest as JSON. */
static void value_cell_write(ep_writer *writer, const json_t *value) {
  if (!value) return;
  if (json_is_number(value)) {
    number_cell_write(writer, json_number_value(value));
    return;
  }
  if (json_is_string(value)) {
    text_cell_write(writer, json_string_value(value));
    return;
  }
  ep_writer inner;
  ep_writer_init(&inner, TEXT_LIMIT);
  ep_spec_value_write(&inner, value);
  char *text = ep_writer_take(&inner);
  if (text)
    text_cell_write(writer, text);
  else
    writer->failed = true;
  free(text);
}

static void header_write(ep_writer *writer, const ep_differences *differences) {
  static const char first[] =
      "id,name,status,device,executor,parameters,train_seconds,test_seconds,epoch_microseconds,"
      "samples_per_second";
  ep_writer_bytes(writer, first, sizeof first - 1);
  for (int figure = 0; figure < EP_METRIC_COUNT; figure++) {
    ep_writer_bytes(writer, ",test_", 6);
    ep_writer_bytes(writer, ep_metric_name(figure), strlen(ep_metric_name(figure)));
  }
  for (int i = 0; i < differences->count; i++) {
    separate(writer);
    text_cell_write(writer, differences->rows[i].pointer);
  }
  ep_writer_bytes(writer, "\n", 1);
}

static void figures_write(ep_writer *writer, const ep_job_result *result) {
  const double times[] = {result ? result->train_seconds : NAN, result ? result->test_seconds : NAN,
                          result ? result->epoch_microseconds : NAN,
                          result ? result->samples_per_second : NAN};
  for (size_t i = 0; i < sizeof times / sizeof *times; i++) {
    separate(writer);
    number_cell_write(writer, times[i]);
  }
  bool tested = result && result->test.rows > 0;
  for (int figure = 0; figure < EP_METRIC_COUNT; figure++) {
    separate(writer);
    if (tested) number_cell_write(writer, ep_metric_value(&result->test, figure));
  }
}

static void row_write(ep_writer *writer, const ep_job_view *job, const ep_differences *differences,
                      int place) {
  const char *texts[] = {job->id, job->name, ep_state_name(job->state), job->device, job->executor};
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
    if (i > 0) separate(writer);
    text_cell_write(writer, texts[i]);
  }
  separate(writer);
  number_cell_write(writer, (double)job->parameters);
  figures_write(writer, job->result);
  for (int i = 0; i < differences->count; i++) {
    separate(writer);
    value_cell_write(writer, differences->rows[i].values[place]);
  }
  ep_writer_bytes(writer, "\n", 1);
}

ep_status ep_comparison_format_csv(const ep_compared_job *jobs, int count, char **out,
                                   ep_error *error) {
  ep_differences differences;
  ep_writer writer;
  *out = NULL;
  ep_status status = differences_of(jobs, count, &differences, error);
  if (status != EP_OK) return status;
  ep_writer_init(&writer, TEXT_LIMIT);
  header_write(&writer, &differences);
  for (int i = 0; i < count; i++) row_write(&writer, jobs[i].job, &differences, i);
  ep_differences_deinit(&differences);
  return text_take(&writer, out, error);
}
