/* schedules.c: the fields of each schedule. */
#include "api/spec/tables.h"

#define AT(member) offsetof(ep_schedule_spec, member)
#define GAMMA(...) EP_ROW_REAL("gamma", gamma, "factor of a drop", 0, EP_REAL_MAX, __VA_ARGS__)
static const ep_field step_rows[] = {
    {.key = "step_size",
     .kind = EP_FIELD_INT64,
     .offset = AT(step_size),
     .required = true,
     .min = 1,
     .max = (double)EP_LIMIT_EPOCHS,
     .doc = "epochs between two drops"},
    GAMMA(0.1, EP_ROW_PLAIN),
};
static const ep_field multi_step_rows[] = {
    {.key = "milestones",
     .kind = EP_FIELD_CUSTOM,
     .required = true,
     .read = ep_milestones_read,
     .write = ep_milestones_write,
     .form = "an array of ascending epochs",
     .doc = "the epochs before which it drops, counted from 0",
     .schema = EP_JSON({
       "type" : "array",
       "items" : {"type" : "integer", "minimum" : 1},
       "maxItems" : EP_LIMIT_MILESTONES
     })},
    GAMMA(0.1, EP_ROW_PLAIN),
};
static const ep_field exponential_rows[] = {GAMMA(0, .required = true)};
static const ep_field cosine_rows[] = {
    {.key = "t_max",
     .kind = EP_FIELD_INT64,
     .offset = AT(t_max),
     .nullable = true,
     .min = 1,
     .max = (double)EP_LIMIT_EPOCHS,
     .doc = "epochs until the smallest learning rate; all by default"},
    EP_ROW_REAL("eta_min", eta_min, "the smallest learning rate", 0, EP_REAL_MAX, 0, EP_ROW_PLAIN),
};
static const ep_field one_cycle_rows[] = {
    EP_ROW_REAL("max_lr", max_lr, "the largest learning rate; the optimizer's lr by default", 0,
                EP_REAL_MAX, 0, .nullable = true),
    EP_ROW_REAL("pct_start", pct_start, "the part of all steps in which it rises", 0, 1, 0.3,
                EP_ROW_PLAIN),
    EP_ROW_REAL("div_factor", div_factor, "it starts at max_lr / div_factor", 0, EP_REAL_MAX, 25,
                .open_min = true),
    EP_ROW_REAL("final_div_factor", final_div_factor, "and ends at this start / final_div_factor",
                0, EP_REAL_MAX, 1e4, .open_min = true),
};
static const ep_field plateau_rows[] = {
    EP_ROW_REAL("factor", factor, "factor of a drop", 0, 1, 0.1, .open_max = true),
    {.key = "patience",
     .kind = EP_FIELD_INT64,
     .offset = AT(patience),
     .min = 0,
     .max = (double)EP_LIMIT_EPOCHS,
     .fallback = 10,
     .doc = "epochs without improvement before a drop"},
    EP_ROW_REAL("threshold", threshold, "an improvement must be larger than this share of the best",
                0, 1, 1e-4, EP_ROW_PLAIN),
    EP_ROW_REAL("min_lr", min_lr, "the smallest learning rate", 0, EP_REAL_MAX, 0, EP_ROW_PLAIN),
    EP_METRIC_ROW(AT(metric), "the metric to watch, evaluated in every reported epoch"),
};
static const ep_field warmup_rows[] = {
    {.key = "warmup_epochs",
     .kind = EP_FIELD_INT64,
     .offset = AT(warmup_epochs),
     .min = 0,
     .max = (double)EP_LIMIT_EPOCHS,
     .doc = "warm-up epochs, in which the rate rises step by step to the schedule's; epoch 1 of n "
            "ends at 1/n of the way"},
    EP_ROW_REAL("warmup_factor", warmup_factor,
                "the share of the rate before the first step of the warm-up", 0, 1, 0,
                EP_ROW_PLAIN),
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
                                                schedule_about,
                                                NULL};
