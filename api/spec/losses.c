/* losses.c: the fields of each loss, which are members of the job itself. */
#include "api/spec/tables.h"

#define AT(member) offsetof(ep_job_spec, member)
#define CLASS_WEIGHTS                                                                         \
  {                                                                                           \
    .key = "class_weights", .kind = EP_FIELD_CUSTOM, .nullable = true,                        \
    .read = ep_class_weights_read, .write = ep_class_weights_write,                           \
    .form = "an array of numbers of at least 0, one per class, or \"balanced\"",              \
    .text_fallback = "null",                                                                  \
    .doc = "weight of the rows of each class; the mean is weighted; \"balanced\": rows over " \
           "classes times the class's rows, of the training rows",                            \
    .schema = EP_JSON({                                                                       \
      "anyOf" : [                                                                             \
        {                                                                                     \
          "type" : "array",                                                                   \
          "items" : {"type" : "number", "minimum" : 0},                                       \
          "minItems" : 1,                                                                     \
          "maxItems" : EP_LIMIT_CLASSES                                                       \
        },                                                                                    \
        {"enum" : ["balanced"]}                                                               \
      ]                                                                                       \
    })                                                                                        \
  }
static const ep_field huber_rows[] = {
    EP_ROW_REAL("delta", loss_parameter, "where the square turns into a line", 0, EP_REAL_MAX, 1,
                .open_min = true),
};
static const ep_field quantile_rows[] = {
    EP_ROW_REAL("q", loss_parameter, "the quantile: 0.5 is the median", 0, 1, 0.5, .open_min = true,
                .open_max = true),
};
static const ep_field bce_rows[] = {
    EP_ROW_REAL("pos_weight", loss_parameter,
                "weight of a target of 1 relative to a target of 0, in the value and the gradient, "
                "as in PyTorch; the mean is not weighted",
                0, EP_REAL_MAX, 1, EP_ROW_PLAIN),
};
static const ep_field cross_entropy_rows[] = {
    EP_ROW_REAL("label_smoothing", label_smoothing,
                "the share of the target distributed evenly over all classes", 0, 1, 0,
                EP_ROW_PLAIN),
    CLASS_WEIGHTS,
};
static const ep_field focal_rows[] = {
    EP_ROW_REAL("gamma", loss_parameter,
                "how much a correctly classified row is down-weighted; 0: not at all", 0,
                EP_REAL_MAX, 2, EP_ROW_PLAIN),
    CLASS_WEIGHTS,
};
static const ep_field nll_rows[] = {CLASS_WEIGHTS};
#undef AT
static const ep_field_table huber_table = EP_FIELD_TABLE(huber_rows, NULL);
static const ep_field_table quantile_table = EP_FIELD_TABLE(quantile_rows, NULL);
static const ep_field_table bce_table = EP_FIELD_TABLE(bce_rows, NULL);
static const ep_field_table cross_entropy_table = EP_FIELD_TABLE(cross_entropy_rows, NULL);
static const ep_field_table focal_table = EP_FIELD_TABLE(focal_rows, NULL);
static const ep_field_table nll_table = EP_FIELD_TABLE(nll_rows, NULL);
static const ep_field_table *const loss_tables[EP_LOSS_COUNT] = {
    [EP_LOSS_BCE] = &bce_table,           [EP_LOSS_BCE_WITH_LOGITS] = &bce_table,
    [EP_LOSS_HUBER] = &huber_table,       [EP_LOSS_CROSS_ENTROPY] = &cross_entropy_table,
    [EP_LOSS_NLL] = &nll_table,           [EP_LOSS_FOCAL] = &focal_table,
    [EP_LOSS_QUANTILE] = &quantile_table,
};
#define ABOUT(code, name, kind, meaning, formula) {meaning, formula},
static const ep_field_about loss_about[EP_LOSS_COUNT] = {EP_LOSS_TABLE(ABOUT)};
#undef ABOUT
const ep_field_variants ep_loss_variants = {
    &ep_loss_words, offsetof(ep_job_spec, loss), true, loss_tables, -1, loss_about, NULL};
