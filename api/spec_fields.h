/* spec_fields.h: the tables of the job's spec, for the parser, the writer and the documentation. */
#ifndef EP_API_SPEC_FIELDS_H
#define EP_API_SPEC_FIELDS_H

#include "api/fields.h"
#include "api/spec.h"

extern const ep_field_table ep_spec_table;

extern const ep_field_table ep_inline_table; /* {"x": …, "y": …} of ep_data_spec */

/* One table a layer type, a loss, an optimizer. */
extern const ep_field_variants ep_layer_variants, ep_loss_variants, ep_optimizer_variants;

/* What "data" can be: the table of each source; generators have one each. */
const ep_field_table *ep_data_table(ep_data_source source, ep_generator generator);

/* Readers and writers of the fields that are no plain values (spec_data.c, spec_values.c). */
void ep_data_read(ep_field_reader *reader, const ep_field *field, const json_t *value, void *base);
void ep_data_write(ep_writer *writer, const ep_field *field, const void *base);
void ep_target_read(ep_field_reader *reader, const ep_field *field, const json_t *value,
                    void *base);
void ep_target_write(ep_writer *writer, const ep_field *field, const void *base);
void ep_standardize_read(ep_field_reader *reader, const ep_field *field, const json_t *value,
                         void *base);
void ep_standardize_write(ep_writer *writer, const ep_field *field, const void *base);
void ep_tags_read(ep_field_reader *reader, const ep_field *field, const json_t *value, void *base);
void ep_tags_write(ep_writer *writer, const ep_field *field, const void *base);
void ep_layers_read(ep_field_reader *reader, const ep_field *field, const json_t *value,
                    void *base);
void ep_layers_write(ep_writer *writer, const ep_field *field, const void *base);

#endif
