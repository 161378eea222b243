#include "api/baseline/baseline.h"

#include <math.h>
#include <stdio.h>

#include "api/json/json.h"

ep_baseline ep_baseline_of_mean(void) {
  return (ep_baseline){.metric = EP_METRIC_R2, .mae = NAN, .of = "the mean alone"};
}

ep_baseline ep_baseline_of_last_value(double r2, double mae) {
  if (!isfinite(r2)) return (ep_baseline){0};
  return (ep_baseline){.metric = EP_METRIC_R2, .value = r2, .mae = mae, .of = "the last value"};
}

ep_baseline ep_baseline_of_class(const char *name, int most, double share) {
  ep_baseline found = {.metric = EP_METRIC_ACCURACY, .value = share, .mae = NAN};
  if (name)
    snprintf(found.of, sizeof found.of, "always \"%s\"", name);
  else
    snprintf(found.of, sizeof found.of, "always \"%d\"", most);
  return found;
}

void ep_baseline_write(ep_writer *writer, const ep_baseline *baseline) {
  if (!baseline->of[0]) {
    ep_writer_null(writer);
    return;
  }
  ep_writer_open(writer, '{');
  ep_writer_member_string(writer, "metric", ep_metric_name((int)baseline->metric));
  ep_writer_member_number(writer, "value", baseline->value);
  ep_writer_member_string(writer, "of", baseline->of);
  if (!isnan(baseline->mae)) ep_writer_member_number(writer, "mae", baseline->mae);
  ep_writer_close(writer, '}');
}

bool ep_baseline_read(const json_t *object, ep_baseline *out) {
  char metric[32];
  *out = (ep_baseline){0};
  if (!object || json_is_null(object)) return true;
  if (!ep_json_get_text(object, "metric", metric, sizeof metric) ||
      !ep_json_get_number(object, "value", &out->value) ||
      !ep_json_get_text(object, "of", out->of, sizeof out->of))
    return false;
  if (!ep_json_get_number(object, "mae", &out->mae)) out->mae = NAN;
  int known = ep_metric_from_name(metric);
  out->metric = (ep_metric)known;
  return known >= 0;
}
