#include "engine/plots/plots.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "engine/plots/parts.h"

static bool is_classifier(const ep_plot_model *model) {
  /* several decisions a row have no one confusion, and no one order */
  return ep_loss_takes_classes(model->loss) ||
         (ep_loss_is_classifier(model->loss) && model->outputs == 1);
}

static bool is_regression(const ep_plot_model *model) {
  return !ep_loss_is_classifier(model->loss) && model->rows.targets == model->outputs;
}

static int64_t inputs_count(const ep_plot_model *model, bool numbers) {
  int64_t count = 0;
  for (int64_t j = 0; j < model->rows.columns && model->rows_stand_alone; j++)
    count +=
        ep_plot_column_is_input(model, j) && !(numbers && ep_plot_column_is_category(model, j));
  return count;
}

/* A row of the table: what a plot fits is EP_PLOT_TABLE's words, as a condition. */
typedef struct {
  ep_plot_writer *write;
  bool classifier, regression; /* it is for these alone */
  int inputs;                  /* columns of rows that stand alone that it takes at least */
  bool of_output;
} plot_row;

/* Of the layers alone: no rows. */
static ep_status network_write(const ep_plot_model *model, const ep_plot_request *request,
                               ep_writer *writer, ep_error *error) {
  (void)request, (void)error;
  ep_layer_views_write(writer, model->layers, model->layers_count);
  return EP_OK;
}

static const plot_row ROWS[EP_PLOT_COUNT] = {
    [EP_PLOT_CONFUSION] = {ep_plot_confusion_write, true, false, 0, true},
    [EP_PLOT_ROC] = {ep_plot_roc_write, true, false, 0, true},
    [EP_PLOT_PR] = {ep_plot_pr_write, true, false, 0, true},
    [EP_PLOT_CALIBRATION] = {ep_plot_calibration_write, true, false, 0, true},
    [EP_PLOT_PREDICTIONS] = {ep_plot_predictions_write, false, true, 0, true},
    [EP_PLOT_RESIDUALS] = {ep_plot_residuals_write, false, true, 0, true},
    [EP_PLOT_BOUNDARY] = {ep_plot_boundary_write, false, false, 2, false},
    [EP_PLOT_IMPORTANCE] = {ep_plot_importance_write, false, false, 1, true},
    [EP_PLOT_DEPENDENCE] = {ep_plot_dependence_write, false, false, 1, false},
    [EP_PLOT_MISTAKES] = {ep_plot_mistakes_write, true, false, 0, true},
    [EP_PLOT_UNCERTAIN] = {ep_plot_uncertain_write, true, false, 0, true},
    [EP_PLOT_WEIGHTS] = {ep_plot_weights_write, false, false, 0, false},
    [EP_PLOT_NETWORK] = {network_write, false, false, 0, false},
    [EP_PLOT_TIMELAPSE] = {ep_plot_timelapse_write, false, false, 2, false},
};

bool ep_plot_needs_output(ep_plot_kind kind) {
  return ROWS[kind].of_output;
}

bool ep_plot_fits(ep_plot_kind kind, const ep_plot_model *model) {
  const plot_row *row = &ROWS[kind];
  if (row->classifier) return is_classifier(model);
  if (row->regression) return is_regression(model);
  if (kind == EP_PLOT_NETWORK) return true;
  if (kind == EP_PLOT_WEIGHTS) return ep_plot_weights_there(model);
  if (kind == EP_PLOT_TIMELAPSE && model->moments_count == 0) return false;
  if (!is_classifier(model) && !is_regression(model)) return false;
  if (kind == EP_PLOT_IMPORTANCE && model->rows.columns > EP_LIMIT_PLOT_COLUMNS) return false;
  return inputs_count(model, row->inputs == 2) >= row->inputs;
}

void ep_plot_list_write(const ep_plot_model *model, const char *job, const char *base,
                        ep_writer *writer) {
  char link[EP_BASE_PATH_BYTES + EP_ID_BYTES + EP_PLOT_NAME_BYTES + 32];
  ep_writer_open(writer, '{');
  ep_writer_member_string(writer, "object", "list");
  ep_writer_member_open(writer, "data", '[');
  for (int kind = 0; kind < EP_PLOT_COUNT; kind++) {
    if (!ep_plot_fits((ep_plot_kind)kind, model)) continue;
    const char *name = ep_plot_kind_name((ep_plot_kind)kind);
    snprintf(link, sizeof link, "%s/v1/jobs/%s/plots/%s", base, job, name);
    ep_writer_open(writer, '{');
    ep_writer_member_string(writer, "name", name);
    ep_writer_member_string(writer, "shows", ep_plot_kind_shows((ep_plot_kind)kind));
    ep_writer_member_string(writer, "needs", ep_plot_kind_fits((ep_plot_kind)kind));
    ep_writer_member_string(writer, "link", link);
    ep_writer_close(writer, '}');
  }
  ep_writer_close(writer, ']');
  ep_writer_close(writer, '}');
}

/* "confusion, roc, pr" */
static void list_print(const ep_plot_model *model, char *text, size_t text_bytes) {
  size_t used = 0;
  text[0] = 0;
  for (int kind = 0; kind < EP_PLOT_COUNT && used < text_bytes; kind++)
    if (ep_plot_fits((ep_plot_kind)kind, model))
      used += (size_t)snprintf(text + used, text_bytes - used, "%s%s", used > 0 ? ", " : "",
                               ep_plot_kind_name((ep_plot_kind)kind));
}

ep_status ep_plot_write(const ep_plot_model *model, const char *job, const ep_plot_request *request,
                        ep_writer *writer, ep_error *error) {
  char fitting[256];
  int kind = ep_plot_kind_from_name(request->name);
  list_print(model, fitting, sizeof fitting);
  if (kind < 0)
    return ep_fail(error, EP_NO_PLOT, "unknown plot \"%s\"; the plots of this job are: %s",
                   request->name, fitting);
  if (!ep_plot_fits((ep_plot_kind)kind, model)) {
    bool several = ep_loss_is_classifier(model->loss) && !is_classifier(model);
    return ep_fail(error, EP_NO_PLOT,
                   "the plot \"%s\" requires %s%s; the plots of this job are: %s", request->name,
                   ep_plot_kind_fits((ep_plot_kind)kind),
                   several ? ", and this job makes several decisions per row" : "", fitting);
  }
  ep_writer_open(writer, '{');
  ep_writer_member_string(writer, "object", "plot");
  ep_writer_member_string(writer, "job", job);
  ep_writer_member_string(writer, "plot", request->name);
  if (kind != EP_PLOT_NETWORK) {
    ep_writer_member_string(writer, "split", ep_split_name(model->rows.split));
    ep_writer_member_integer(writer, "rows", model->rows.rows);
    ep_writer_member_integer(writer, "of_rows", model->rows.of_rows);
  }
  ep_status status = ROWS[kind].write(model, request, writer, error);
  ep_writer_close(writer, '}');
  return status;
}
