/* rates.c: the loss over the learning rates of a finder. */
#include <math.h>

#include "server/plots/parts.h"

/* The least and the greatest loss that are worth drawing: what has exploded goes off the top. */
static void losses_range(const json_t *losses, double *low, double *high) {
  double first = ep_plot_number(json_array_get(losses, 0));
  *low = *high = isfinite(first) ? first : 1;
  for (size_t i = 0; i < json_array_size(losses); i++) {
    double loss = ep_plot_number(json_array_get(losses, i));
    if (!isfinite(loss)) continue;
    *low = fmin(*low, loss);
    *high = fmax(*high, fmin(loss, 2 * fabs(first)));
  }
  if (*low == *high) *high = *low + 1;
}

static void mark_draw(ep_drawing *drawing, double lr, const char *word) {
  if (!isfinite(lr)) return;
  ep_drawing_print(drawing, "<path class=\"spread\" d=\"M%.1f %dV%d\"/>\n",
                   ep_drawing_x(drawing, lr), drawing->top, drawing->bottom);
  ep_drawing_text(drawing, "quiet", ep_drawing_x(drawing, lr) + 4, drawing->top + 12, "start", word,
                  24);
}

ep_status ep_rates_draw(ep_drawing *drawing, const json_t *numbers, ep_error *error) {
  (void)error;
  const json_t *rates = json_object_get(numbers, "lr");
  const json_t *losses = json_object_get(numbers, "smoothed");
  size_t count = json_array_size(rates);
  double low, high, proposal = ep_plot_member(numbers, "proposal");
  bool begun = false;
  losses_range(losses, &low, &high);
  ep_chart_axis_init(&drawing->x, ep_plot_number(json_array_get(rates, 0)),
                     ep_plot_number(json_array_get(rates, count - 1)), true, false, false);
  ep_chart_axis_init(&drawing->y, low, high, false, false, true);
  ep_drawing_axes(drawing, "learning rate", "loss, smoothed");
  ep_drawing_print(drawing, "<path class=\"line\" d=\"");
  for (size_t i = 0; i < count; i++) {
    double loss = ep_plot_number(json_array_get(losses, i));
    if (!isfinite(loss) || loss > high) continue;
    ep_drawing_print(drawing, "%s%.1f %.1f", begun ? "L" : "M",
                     ep_drawing_x(drawing, ep_plot_number(json_array_get(rates, i))),
                     ep_drawing_y(drawing, loss));
    begun = true;
  }
  ep_drawing_print(drawing, "\"/>\n");
  mark_draw(drawing, proposal, "proposal");
  if (isfinite(proposal))
    ep_plot_note(drawing, "train with %.3g; falls fastest at %.3g, lowest at %.3g", proposal,
                 ep_plot_member(numbers, "steepest"), ep_plot_member(numbers, "least"));
  else
    ep_plot_note(drawing, "the loss does not fall at any rate");
  return EP_OK;
}
