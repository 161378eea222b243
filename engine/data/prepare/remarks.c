#include "engine/data/prepare/remarks.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "engine/data/columns/rules.h"
#include "engine/files/excerpt.h"

enum { LINE_BYTES = 400, NAMES_TOLD = 8 };
static const double target_most = 100; /* beyond it a network's first outputs are far off */

static void line_add(char *out, size_t bytes, const char *line) {
  size_t used = strlen(out);
  if (used + strlen(line) + 2 <= bytes)
    snprintf(out + used, bytes - used, "%s%s", used ? "\n" : "", line);
}

static void rows_remark(const ep_data_shape *shape, char *out, size_t bytes) {
  char line[LINE_BYTES];
  long long missing = shape->target_missing;
  if (missing == 0) return;
  snprintf(line, sizeof line, "%lld row%s no target and %s left out", missing,
           missing == 1 ? " has" : "s have", missing == 1 ? "is" : "are");
  line_add(out, bytes, line);
}

/* Whether the spec leaves the column in, and it is no feature all the same. */
static bool is_dropped(const ep_data_spec *data, const ep_column_encoding *column) {
  const ep_column_rule *rule = ep_column_rule_find(data, column->name);
  bool ignored = rule && rule->type == EP_COLUMN_AS_IGNORE;
  return column->encode == EP_ENCODE_NONE && !ignored && ep_column_chosen(data, column->name);
}

static void columns_remark(const ep_data_spec *data, const ep_encoding *encoding, char *out,
                           size_t bytes) {
  char line[LINE_BYTES] = "", shown[EP_EXCERPT_BYTES];
  int64_t dropped = 0;
  for (int64_t i = 0; i < encoding->columns; i++) {
    size_t used = strlen(line);
    if (!is_dropped(data, &encoding->column[i]) || ++dropped > NAMES_TOLD) continue;
    const char *name = encoding->column[i].name;
    snprintf(line + used, sizeof line - used, "%s\"%.30s\"", used ? ", " : "",
             ep_excerpt(shown, name, strlen(name)));
  }
  if (dropped == 0) return;
  char whole[LINE_BYTES + 80];
  snprintf(whole, sizeof whole, "left out, as text or one value in all rows: %s%s", line,
           dropped > NAMES_TOLD ? ", …" : "");
  line_add(out, bytes, whole);
}

static void target_remark(const ep_job_spec *spec, const ep_data_shape *shape, char *out,
                          size_t bytes) {
  char line[LINE_BYTES];
  bool far = fabs(shape->target_min) > target_most || fabs(shape->target_max) > target_most;
  if (ep_loss_is_classifier(spec->loss) || spec->data.standardize_y || !far) return;
  snprintf(line, sizeof line,
           "the targets go from %g to %g and are not scaled, which is slow to learn: "
           "\"standardize\": [\"y\"] in data scales them",
           shape->target_min, shape->target_max);
  line_add(out, bytes, line);
}

void ep_data_remarks(const ep_job_spec *spec, const ep_data_shape *shape, const ep_scaling *scaling,
                     char *out, size_t bytes) {
  out[0] = 0;
  rows_remark(shape, out, bytes);
  if (scaling->encoding) columns_remark(&spec->data, scaling->encoding, out, bytes);
  target_remark(spec, shape, out, bytes);
}
