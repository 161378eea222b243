/* training.c: the tables of what is made small, and how: losses, optimizers, schedules.
 * Names, defaults and formulas are torch's. */
#include "api/spec/fields.h"

#define REAL(key_, member, doc_, least, greatest, fallback_, ...)                              \
  {                                                                                            \
    .key = key_, .kind = EP_FIELD_DOUBLE, .offset = AT(member), .min = least, .max = greatest, \
    .fallback = fallback_, .doc = doc_, __VA_ARGS__                                            \
  }
#define NO_MORE .nullable = false
/* The largest share that stays below 1 in float32. */
#define SHARE_MAX 0.9999999

/* Losses: their figures stand in the spec itself. */
#define AT(member) offsetof(ep_job_spec, member)
#define CLASS_WEIGHTS                                                                  \
  {                                                                                    \
    .key = "class_weights", .kind = EP_FIELD_CUSTOM, .nullable = true,                 \
    .read = ep_class_weights_read, .write = ep_class_weights_write,                    \
    .form = "an array of numbers of at least 0, one a class", .text_fallback = "null", \
    .doc = "how much a row of each class counts; the mean is weighted"                 \
  }
static const ep_field huber_rows[] = {
    REAL("delta", huber_delta, "where the square turns into a line", 0, EP_REAL_MAX, 1,
         .open_min = true),
};
static const ep_field cross_entropy_rows[] = {
    REAL("label_smoothing", label_smoothing,
         "the part of the target that goes to all classes alike", 0, 1, 0, NO_MORE),
    CLASS_WEIGHTS,
};
static const ep_field nll_rows[] = {CLASS_WEIGHTS};
#undef AT
static const ep_field_table huber_table = EP_FIELD_TABLE(huber_rows, NULL);
static const ep_field_table cross_entropy_table = EP_FIELD_TABLE(cross_entropy_rows, NULL);
static const ep_field_table nll_table = EP_FIELD_TABLE(nll_rows, NULL);
static const ep_field_table *const loss_tables[EP_LOSS_COUNT] = {
    [EP_LOSS_HUBER] = &huber_table,
    [EP_LOSS_CROSS_ENTROPY] = &cross_entropy_table,
    [EP_LOSS_NLL] = &nll_table,
};
#define ABOUT(code, name, kind, meaning, formula) {meaning, formula},
static const ep_field_about loss_about[EP_LOSS_COUNT] = {EP_LOSS_TABLE(ABOUT)};
#undef ABOUT
const ep_field_variants ep_loss_variants = {
    &ep_loss_words, offsetof(ep_job_spec, loss), true, loss_tables, -1, loss_about};

/* Optimizers. */
#define AT(member) offsetof(ep_optimizer_spec, member)
_Static_assert(AT(beta2) == AT(beta1) + sizeof(double), "the betas are a pair");
#define LR(fallback_) REAL("lr", lr, "learning rate", 0, EP_REAL_MAX, fallback_, NO_MORE)
#define MOMENTUM \
  REAL("momentum", momentum, "share of the last step that goes into the next", 0, 1, 0, NO_MORE)
#define BETAS(first, second_)                                                               \
  {                                                                                         \
    .key = "betas", .kind = EP_FIELD_PAIR, .element = EP_FIELD_DOUBLE, .offset = AT(beta1), \
    .min = 0, .max = SHARE_MAX, .fallback = first, .second = second_,                       \
    .doc = "how slowly the two running means forget"                                        \
  }
#define EPS(fallback_) \
  REAL("eps", eps, "keeps the division finite", 0, EP_REAL_MAX, fallback_, NO_MORE)
#define WEIGHT_DECAY(fallback_, doc_) \
  REAL("weight_decay", weight_decay, doc_, 0, EP_REAL_MAX, fallback_, NO_MORE)
#define DECAY_GRADIENT "adds this times the parameter to its gradient"
static const ep_field sgd_rows[] = {
    LR(0.01),
    MOMENTUM,
    {.key = "nesterov",
     .kind = EP_FIELD_BOOL,
     .offset = AT(nesterov),
     .doc = "looks ahead by the momentum, which it needs"},
    WEIGHT_DECAY(0, DECAY_GRADIENT),
};
static const ep_field adam_rows[] = {
    LR(0.001),
    BETAS(0.9, 0.999),
    EPS(1e-8),
    WEIGHT_DECAY(0, DECAY_GRADIENT),
};
static const ep_field adamw_rows[] = {
    LR(0.001),
    BETAS(0.9, 0.999),
    EPS(1e-8),
    WEIGHT_DECAY(0.01, "takes lr times this times the parameter off it"),
};
static const ep_field rmsprop_rows[] = {
    LR(0.01),
    REAL("alpha", alpha, "how slowly the mean of the squares forgets", 0, 1, 0.99, NO_MORE),
    EPS(1e-8),
    MOMENTUM,
    {.key = "centered",
     .kind = EP_FIELD_BOOL,
     .offset = AT(centered),
     .doc = "divides by the deviation instead of the root of the mean square"},
    WEIGHT_DECAY(0, DECAY_GRADIENT),
};
static const ep_field adagrad_rows[] = {
    LR(0.01),
    REAL("lr_decay", lr_decay, "lowers the learning rate step by step", 0, EP_REAL_MAX, 0, NO_MORE),
    EPS(1e-10),
    WEIGHT_DECAY(0, DECAY_GRADIENT),
};
static const ep_field lion_rows[] = {
    LR(1e-4),
    BETAS(0.9, 0.99),
    WEIGHT_DECAY(0, "takes lr times this times the parameter off it"),
};
static const ep_field any_optimizer_rows[] = {
    {.key = "decay_all",
     .kind = EP_FIELD_BOOL,
     .offset = AT(decay_all),
     .fallback = 1,
     .doc = "weight_decay on biases and norms too; false: on the other weights alone"},
};
#undef AT
static const ep_field_table any_optimizer_table = EP_FIELD_TABLE(any_optimizer_rows, NULL);
#define TABLE(word) \
  static const ep_field_table word##_table = EP_FIELD_TABLE(word##_rows, &any_optimizer_table)
TABLE(sgd);
TABLE(adam);
TABLE(adamw);
TABLE(rmsprop);
TABLE(adagrad);
TABLE(lion);
#undef TABLE
static const ep_field_table *const optimizer_tables[EP_OPTIMIZER_COUNT] = {
    [EP_OPTIMIZER_SGD] = &sgd_table,         [EP_OPTIMIZER_ADAM] = &adam_table,
    [EP_OPTIMIZER_ADAMW] = &adamw_table,     [EP_OPTIMIZER_RMSPROP] = &rmsprop_table,
    [EP_OPTIMIZER_ADAGRAD] = &adagrad_table, [EP_OPTIMIZER_LION] = &lion_table,
};
#define ABOUT(code, name, meaning, formula) {meaning, formula},
static const ep_field_about optimizer_about[EP_OPTIMIZER_COUNT] = {EP_OPTIMIZER_TABLE(ABOUT)};
#undef ABOUT
const ep_field_variants ep_optimizer_variants = {&ep_optimizer_words,
                                                 offsetof(ep_optimizer_spec, type),
                                                 true,
                                                 optimizer_tables,
                                                 EP_OPTIMIZER_SGD,
                                                 optimizer_about};

/* Schedules. */
#define AT(member) offsetof(ep_schedule_spec, member)
#define GAMMA(...) REAL("gamma", gamma, "what a drop multiplies with", 0, EP_REAL_MAX, __VA_ARGS__)
static const ep_field step_rows[] = {
    {.key = "step_size",
     .kind = EP_FIELD_INT64,
     .offset = AT(step_size),
     .required = true,
     .min = 1,
     .max = (double)EP_LIMIT_EPOCHS,
     .doc = "epochs between two drops"},
    GAMMA(0.1, NO_MORE),
};
static const ep_field multi_step_rows[] = {
    {.key = "milestones",
     .kind = EP_FIELD_CUSTOM,
     .required = true,
     .read = ep_milestones_read,
     .write = ep_milestones_write,
     .form = "an array of ascending epochs",
     .doc = "the epochs before which it drops, counted from 0"},
    GAMMA(0.1, NO_MORE),
};
static const ep_field exponential_rows[] = {GAMMA(0, .required = true)};
static const ep_field cosine_rows[] = {
    {.key = "t_max",
     .kind = EP_FIELD_INT64,
     .offset = AT(t_max),
     .nullable = true,
     .min = 1,
     .max = (double)EP_LIMIT_EPOCHS,
     .doc = "epochs to the least learning rate; all unless given"},
    REAL("eta_min", eta_min, "the least learning rate", 0, EP_REAL_MAX, 0, NO_MORE),
};
static const ep_field one_cycle_rows[] = {
    REAL("max_lr", max_lr, "the greatest learning rate; the optimizer's lr unless given", 0,
         EP_REAL_MAX, 0, .nullable = true),
    REAL("pct_start", pct_start, "the part of all steps in which it rises", 0, 1, 0.3, NO_MORE),
    REAL("div_factor", div_factor, "it starts at max_lr / div_factor", 0, EP_REAL_MAX, 25,
         .open_min = true),
    REAL("final_div_factor", final_div_factor, "and ends at this start / final_div_factor", 0,
         EP_REAL_MAX, 1e4, .open_min = true),
};
static const ep_field plateau_rows[] = {
    REAL("factor", factor, "what a drop multiplies with", 0, 1, 0.1, .open_max = true),
    {.key = "patience",
     .kind = EP_FIELD_INT64,
     .offset = AT(patience),
     .min = 0,
     .max = (double)EP_LIMIT_EPOCHS,
     .fallback = 10,
     .doc = "epochs without a better validation loss that are let pass"},
    REAL("threshold", threshold, "better means: by this part of the best", 0, 1, 1e-4, NO_MORE),
    REAL("min_lr", min_lr, "the least learning rate", 0, EP_REAL_MAX, 0, NO_MORE),
};
static const ep_field warmup_rows[] = {
    {.key = "warmup_epochs",
     .kind = EP_FIELD_INT64,
     .offset = AT(warmup_epochs),
     .min = 0,
     .max = (double)EP_LIMIT_EPOCHS,
     .doc = "epochs in which it rises step by step to what the schedule says"},
    REAL("warmup_factor", warmup_factor, "from this part of it", 0, 1, 0, NO_MORE),
};
#undef AT
static const ep_field_table warmup_table = EP_FIELD_TABLE(warmup_rows, NULL);
static const ep_field_table step_table = EP_FIELD_TABLE(step_rows, &warmup_table);
static const ep_field_table multi_step_table = EP_FIELD_TABLE(multi_step_rows, &warmup_table);
static const ep_field_table exponential_table = EP_FIELD_TABLE(exponential_rows, &warmup_table);
static const ep_field_table cosine_table = EP_FIELD_TABLE(cosine_rows, &warmup_table);
static const ep_field_table one_cycle_table = EP_FIELD_TABLE(one_cycle_rows, NULL);
static const ep_field_table plateau_table = EP_FIELD_TABLE(plateau_rows, &warmup_table);
static const ep_field_table *const schedule_tables[EP_SCHEDULE_COUNT] = {
    [EP_SCHEDULE_CONSTANT] = &warmup_table,       [EP_SCHEDULE_STEP] = &step_table,
    [EP_SCHEDULE_MULTI_STEP] = &multi_step_table, [EP_SCHEDULE_EXPONENTIAL] = &exponential_table,
    [EP_SCHEDULE_COSINE] = &cosine_table,         [EP_SCHEDULE_ONE_CYCLE] = &one_cycle_table,
    [EP_SCHEDULE_PLATEAU] = &plateau_table,
};
#define ABOUT(code, name, meaning, formula) {meaning, formula},
static const ep_field_about schedule_about[EP_SCHEDULE_COUNT] = {EP_SCHEDULE_TABLE(ABOUT)};
#undef ABOUT
const ep_field_variants ep_schedule_variants = {&ep_schedule_words,
                                                offsetof(ep_schedule_spec, type),
                                                true,
                                                schedule_tables,
                                                EP_SCHEDULE_CONSTANT,
                                                schedule_about};
