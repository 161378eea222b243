/* optimizers.c: the fields of each optimizer. */
#include "api/spec/tables.h"

/* The largest share that stays below 1 in float32. */
#define SHARE_MAX 0.9999999

#define AT(member) offsetof(ep_optimizer_spec, member)
_Static_assert(AT(beta2) == AT(beta1) + sizeof(double), "the betas are a pair");
#define LR(fallback_) \
  EP_ROW_REAL("lr", lr, "learning rate", 0, EP_REAL_MAX, fallback_, EP_ROW_PLAIN)
#define MOMENTUM                                                                                  \
  EP_ROW_REAL("momentum", momentum, "share of the previous step that is added to the next", 0, 1, \
              0, EP_ROW_PLAIN)
#define BETAS(first, second_)                                                               \
  {                                                                                         \
    .key = "betas", .kind = EP_FIELD_PAIR, .element = EP_FIELD_DOUBLE, .offset = AT(beta1), \
    .min = 0, .max = SHARE_MAX, .fallback = first, .second = second_,                       \
    .doc = "decay rates of the two running means"                                           \
  }
#define EPS(fallback_) \
  EP_ROW_REAL("eps", eps, "keeps the division finite", 0, EP_REAL_MAX, fallback_, EP_ROW_PLAIN)
#define WEIGHT_DECAY(fallback_, doc_) \
  EP_ROW_REAL("weight_decay", weight_decay, doc_, 0, EP_REAL_MAX, fallback_, EP_ROW_PLAIN)
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
    EP_ROW_REAL("alpha", alpha, "decay rate of the mean of the squares", 0, 1, 0.99, EP_ROW_PLAIN),
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
    EP_ROW_REAL("lr_decay", decay, "lowers the learning rate step by step", 0, EP_REAL_MAX, 0,
                EP_ROW_PLAIN),
    EPS(1e-10),
    WEIGHT_DECAY(0, DECAY_GRADIENT),
};
static const ep_field lion_rows[] = {
    LR(1e-4),
    BETAS(0.9, 0.99),
    WEIGHT_DECAY(0, "takes lr times this times the parameter off it"),
};
static const ep_field nadam_rows[] = {
    LR(0.002),
    BETAS(0.9, 0.999),
    EPS(1e-8),
    EP_ROW_REAL("momentum_decay", decay, "how fast the momentum rises to the first of betas", 0,
                EP_REAL_MAX, 0.004, EP_ROW_PLAIN),
    WEIGHT_DECAY(0, DECAY_GRADIENT),
};
static const ep_field adamax_rows[] = {
    LR(0.002),
    BETAS(0.9, 0.999),
    EPS(1e-8),
    WEIGHT_DECAY(0, DECAY_GRADIENT),
};
static const ep_field any_optimizer_rows[] = {
    {.key = "decay_all",
     .kind = EP_FIELD_BOOL,
     .offset = AT(decay_all),
     .fallback = 1,
     .doc = "applies weight_decay to biases and norms too; false: only to the other weights"},
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
TABLE(nadam);
TABLE(adamax);
#undef TABLE
static const ep_field_table *const optimizer_tables[EP_OPTIMIZER_COUNT] = {
    [EP_OPTIMIZER_SGD] = &sgd_table,         [EP_OPTIMIZER_ADAM] = &adam_table,
    [EP_OPTIMIZER_ADAMW] = &adamw_table,     [EP_OPTIMIZER_RMSPROP] = &rmsprop_table,
    [EP_OPTIMIZER_ADAGRAD] = &adagrad_table, [EP_OPTIMIZER_LION] = &lion_table,
    [EP_OPTIMIZER_NADAM] = &nadam_table,     [EP_OPTIMIZER_ADAMAX] = &adamax_table,
};
#define ABOUT(code, name, meaning, formula) {meaning, formula},
static const ep_field_about optimizer_about[EP_OPTIMIZER_COUNT] = {EP_OPTIMIZER_TABLE(ABOUT)};
#undef ABOUT
const ep_field_variants ep_optimizer_variants = {&ep_optimizer_words,
                                                 offsetof(ep_optimizer_spec, type),
                                                 true,
                                                 optimizer_tables,
                                                 EP_OPTIMIZER_SGD,
                                                 optimizer_about,
                                                 NULL};
