/* fields.h: the tables of the job's spec, for the parser, the writer and the documentation. */
#ifndef EP_API_SPEC_FIELDS_H
#define EP_API_SPEC_FIELDS_H

#include "api/json/fields.h"
#include "api/spec/spec.h"

/* The largest float32, rounded down: what a backend gets as a float stays finite. */
#define EP_REAL_MAX 3e38
#define EP_SEED_MAX 9007199254740991.0 /* 2^53 - 1: exact in every JSON reader */

extern const ep_field_table ep_spec_table;
extern const ep_field_table ep_label_table; /* name, tags, priority; of ep_job_spec as well */

extern const ep_field_words ep_layer_words, ep_loss_words, ep_optimizer_words, ep_schedule_words,
    ep_init_words, ep_generator_words;

extern const ep_field_table ep_inline_table; /* {"x": …, "y": …} of ep_data_spec */

/* One table a layer type (spec_layers.c); a loss, an optimizer, a schedule (spec_training.c). */
extern const ep_field_variants ep_layer_variants, ep_loss_variants, ep_optimizer_variants,
    ep_schedule_variants;

/* What "data" can be: the table of each source (spec_sources.c); generators have one each. */
const ep_field_table *ep_data_table(ep_data_source source, ep_generator generator);

bool ep_sha256_accepts(const char *text);

/* Readers and writers of the fields that are no plain values. */
#define EP_CUSTOM_FIELD(word)                                                                \
  void ep_##word##_read(ep_field_reader *reader, const ep_field *field, const json_t *value, \
                        void *base);                                                         \
  void ep_##word##_write(ep_writer *writer, const ep_field *field, const void *base);
/* spec_data.c */
EP_CUSTOM_FIELD(data)
EP_CUSTOM_FIELD(target)
EP_CUSTOM_FIELD(standardize)
EP_CUSTOM_FIELD(shape)
EP_CUSTOM_FIELD(normalize_mean)
EP_CUSTOM_FIELD(normalize_std)
/* spec_model.c */
EP_CUSTOM_FIELD(layers)
EP_CUSTOM_FIELD(block)
EP_CUSTOM_FIELD(tags)
EP_CUSTOM_FIELD(freeze)
/* spec_choices.c */
EP_CUSTOM_FIELD(class_weights)
EP_CUSTOM_FIELD(milestones)
EP_CUSTOM_FIELD(metric)
EP_CUSTOM_FIELD(keep)
#undef EP_CUSTOM_FIELD

/* Arrays of numbers in `row`'s range (its min, max, open_min): spec_lists.c. At most `limit`; an
 * error names the item. The caller owns what comes back; NULL and *count 0 for an empty array or
 * after adding an error. */
double *ep_reals_take(ep_field_reader *reader, const ep_field *row, const json_t *value,
                      size_t limit, int *count);
int64_t *ep_integers_take(ep_field_reader *reader, const ep_field *row, const json_t *value,
                          size_t limit, int *count);
void ep_reals_write(ep_writer *writer, const double *numbers, int count);
void ep_integers_write(ep_writer *writer, const int64_t *numbers, int count);

#endif
