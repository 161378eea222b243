/* schemas.c: JSON Schema (draft 2020-12) of the specs of jobs and sweeps, from the tables that the
 * parser walks. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/spec/automatic.h"
#include "api/spec/tables.h"
#include "api/sweep/sweep_json.h"
#include "tests/docs/pages.h"

static const struct {
  const char *name, *description;
  const ep_field_variants *variants;
} variants_schemas[] = {
    {"Layer", "A layer, by its type", &ep_layer_variants},
    {"Loss", "A word, or an object with the loss's fields", &ep_loss_variants},
    {"Optimizer", "A word, or an object with the optimizer's fields", &ep_optimizer_variants},
    {"Schedule", "A word, or an object with the schedule's fields", &ep_schedule_variants},
};
enum { VARIANTS = sizeof variants_schemas / sizeof variants_schemas[0] };

static json_t *text_new(const char *text) {
  return json_string(text);
}

static json_t *number_new(double number) {
  bool whole = number == floor(number) && fabs(number) < 0x1p53;
  return whole ? json_integer((json_int_t)number) : json_real(number);
}

json_t *ep_field_json(const char *text) {
  if (!text) return NULL;
  json_error_t error;
  json_t *value = json_loads(text, JSON_DECODE_ANY, &error);
  if (value) return value;
  fprintf(stderr, "generate: %s: %s\n", error.text, text);
  exit(1);
}

json_t *ep_field_default(const ep_field *field) {
  if (field->required) return NULL;
  bool null = field->nullable && field->fallback == 0;
  switch (field->kind) {
  case EP_FIELD_INT:
  case EP_FIELD_INT64:
  case EP_FIELD_UINT64:
  case EP_FIELD_DOUBLE:
    if (field->fallback == 0 && field->zero_word) return text_new(field->zero_word);
    return null ? json_null() : number_new(field->fallback);
  case EP_FIELD_PAIR:
    if (null) return json_null();
    if (field->alone && field->fallback == field->second) return number_new(field->fallback);
    return json_pack("[o, o]", number_new(field->fallback), number_new(field->second));
  case EP_FIELD_BOOL: return json_boolean(field->fallback != 0);
  case EP_FIELD_STRING:
    if (field->nullable) return json_null();
    return text_new(field->text_fallback ? field->text_fallback : "");
  case EP_FIELD_WORD: return text_new(field->words->name((int)field->fallback));
  case EP_FIELD_OBJECT: return field->given ? json_null() : NULL;
  case EP_FIELD_VARIANT: return text_new(field->variants->words->name((int)field->fallback));
  case EP_FIELD_CUSTOM: return ep_field_json(field->text_fallback);
  }
  return NULL;
}

static json_t *range_new(const ep_field *field, ep_field_kind kind) {
  json_t *schema = json_pack("{s: s}", "type", kind == EP_FIELD_DOUBLE ? "number" : "integer");
  if (field->min > -EP_REAL_MAX)
    json_object_set_new(schema, field->open_min ? "exclusiveMinimum" : "minimum",
                        number_new(field->min));
  if (field->max < EP_REAL_MAX)
    json_object_set_new(schema, field->open_max ? "exclusiveMaximum" : "maximum",
                        number_new(field->max));
  return schema;
}

static json_t *pair_new(const ep_field *field) {
  json_t *one = range_new(field, field->element);
  json_t *two = json_pack("{s: s, s: O, s: i, s: i}", "type", "array", "items", one, "minItems", 2,
                          "maxItems", 2);
  if (field->alone) return json_pack("{s: [o, o]}", "oneOf", one, two);
  json_decref(one);
  return two;
}

static json_t *words_new(const ep_field_words *words) {
  json_t *list = json_array();
  for (int i = 0; i < words->count; i++) json_array_append_new(list, text_new(words->name(i)));
  return json_pack("{s: o}", "enum", list);
}

static json_t *reference_new(const ep_field_variants *variants) {
  for (int i = 0; i < VARIANTS; i++)
    if (variants_schemas[i].variants == variants)
      return json_pack("{s: s+}", "$ref", "#/components/schemas/", variants_schemas[i].name);
  return NULL;
}

static json_t *object_new(const ep_field_table *table);

/* What the field's kind alone says. */
static json_t *kind_new(const ep_field *field) {
  switch (field->kind) {
  case EP_FIELD_INT:
  case EP_FIELD_INT64:
  case EP_FIELD_UINT64:
  case EP_FIELD_DOUBLE:
    if (!field->zero_word) return range_new(field, field->kind);
    return json_pack("{s: [{s: s}, o]}", "oneOf", "const", field->zero_word,
                     range_new(field, field->kind));
  case EP_FIELD_PAIR: return pair_new(field);
  case EP_FIELD_BOOL: return json_pack("{s: s}", "type", "boolean");
  case EP_FIELD_STRING:
    return json_pack("{s: s, s: I}", "type", "string", "maxLength",
                     (json_int_t)field->capacity - 1);
  case EP_FIELD_WORD: return words_new(field->words);
  case EP_FIELD_OBJECT: return object_new(field->table);
  case EP_FIELD_VARIANT: return reference_new(field->variants);
  case EP_FIELD_CUSTOM: return json_object();
  }
  return NULL;
}

/* The schema that also takes null; takes over `schema`. */
static json_t *nullable_new(json_t *schema) {
  const char *type = json_string_value(json_object_get(schema, "type"));
  json_t *list = json_object_get(schema, "oneOf");
  if (list) {
    json_array_append_new(list, json_pack("{s: s}", "type", "null"));
    return schema;
  }
  if (!type) return json_pack("{s: [o, {s: s}]}", "oneOf", schema, "type", "null");
  json_object_set_new(schema, "type", json_pack("[s, s]", type, "null"));
  return schema;
}

/* The schema that also takes the word for what epochd chooses; takes over `schema`. */
static json_t *automatic_new(json_t *schema) {
  return json_pack("{s: [{s: s}, o]}", "oneOf", "const", EP_AUTOMATIC, schema);
}

static json_t *field_new(const ep_field *field) {
  json_t *schema = kind_new(field);
  json_t *more = ep_field_json(field->schema), *value = ep_field_default(field);
  json_object_update(schema, more);
  json_decref(more);
  if (field->nullable) schema = nullable_new(schema);
  if (field->automatic) schema = automatic_new(schema);
  if (value) json_object_set_new(schema, "default", value);
  if (field->example)
    json_object_set_new(schema, "examples", json_pack("[o]", ep_field_json(field->example)));
  json_object_set_new(schema, "description", text_new(field->doc));
  return schema;
}

/* What an automatic model brings with it may be absent; the model itself may not. */
static bool is_required(const ep_field *field) {
  return field->required && (!field->automatic || field->kind == EP_FIELD_OBJECT);
}

/* The fields of `table` up to the table `end`. */
static json_t *fields_new(const ep_field_table *table, const ep_field_table *end) {
  json_t *properties = json_object(), *required = json_array();
  for (; table != end; table = table->base)
    for (int i = 0; i < table->count; i++) {
      const ep_field *field = &table->fields[i];
      json_object_set_new(properties, field->key, field_new(field));
      if (is_required(field)) json_array_append_new(required, text_new(field->key));
    }
  json_t *schema = json_pack("{s: s, s: o, s: o}", "type", "object", "properties", properties,
                             "required", required);
  if (json_array_size(required) == 0) json_object_del(schema, "required");
  return schema;
}

static json_t *object_new(const ep_field_table *table) {
  json_t *schema = fields_new(table, NULL);
  json_object_set_new(schema, "additionalProperties", json_false());
  return schema;
}

/* The object whose "type" is the variant's word `type`. */
static json_t *variant_new(const ep_field_variants *variants, int type) {
  const char *word = variants->words->name(type);
  const ep_field_about *about = &variants->about[type];
  json_t *schema =
      json_pack("{s: s, s: s++, s: s}", "title", word, "description", about->doc,
                about->formula ? ": " : "", about->formula ? about->formula : "", "type", "object");
  json_t *fields = object_new(ep_field_variant_table(variants, type));
  json_t *properties = json_pack("{s: {s: s}}", "type", "const", word);
  json_object_update(properties, json_object_get(fields, "properties"));
  json_object_set_new(fields, "properties", properties);
  json_t *required = type == variants->fallback ? json_array() : json_pack("[s]", "type");
  json_array_extend(required, json_object_get(fields, "required"));
  if (json_array_size(required) > 0) json_object_set(fields, "required", required);
  json_decref(required);
  json_object_update(schema, fields);
  json_decref(fields);
  return schema;
}

static json_t *variants_new(const ep_field_variants *variants, const char *description) {
  json_t *list = json_array();
  if (variants->word_alone) json_array_append_new(list, words_new(variants->words));
  for (int i = 0; i < variants->words->count; i++)
    json_array_append_new(list, variant_new(variants, i));
  return json_pack("{s: s, s: o}", "description", description, "oneOf", list);
}

/* A source's own fields. */
static json_t *source_new(const char *title, ep_data_source source, ep_generator generator) {
  const ep_field_table *table = ep_data_table(source, generator);
  json_t *schema = json_pack("{s: s}", "title", title), *fields = fields_new(table, table->base);
  json_object_update(schema, fields);
  json_decref(fields);
  if (source == EP_DATA_GENERATOR) {
    json_t *field = json_object_get(json_object_get(schema, "properties"), "generator");
    json_object_del(field, "enum");
    json_object_set_new(field, "const", text_new(ep_generator_name(generator)));
  }
  return schema;
}

/* The fields of all sources, and those of one. */
static json_t *data_new(void) {
  const ep_field_table *dataset = ep_data_table(EP_DATA_DATASET, EP_GENERATOR_XOR);
  json_t *list = json_pack("[o, o, o]", source_new("dataset", EP_DATA_DATASET, EP_GENERATOR_XOR),
                           source_new("inline", EP_DATA_INLINE, EP_GENERATOR_XOR),
                           source_new("path", EP_DATA_PATH, EP_GENERATOR_XOR));
  for (int i = 0; i < EP_GENERATOR_COUNT; i++)
    json_array_append_new(list,
                          source_new(ep_generator_name(i), EP_DATA_GENERATOR, (ep_generator)i));
  json_t *schema = fields_new(dataset->base, NULL);
  json_object_set_new(schema, "description",
                      text_new("One source of rows, how they are split and how they are scaled"));
  json_object_set_new(schema, "oneOf", list);
  json_object_set_new(schema, "unevaluatedProperties", json_false());
  return schema;
}

static json_t *described_new(const char *description, const ep_field_table *table) {
  json_t *schema = json_pack("{s: s}", "description", description);
  json_t *object = object_new(table);
  json_object_update(schema, object);
  json_decref(object);
  return schema;
}

static json_t *job_new(void) {
  return described_new("What is to be trained. Whatever is left out gets its default, and answers "
                       "show all of them.",
                       &ep_spec_table);
}

static json_t *sweep_new(void) {
  return described_new("Many trainings: a job, the fields of it that vary, and how the best is "
                       "searched.",
                       &ep_sweep_table);
}

void ep_schemas_print(void) {
  json_t *schemas =
      json_pack("{s: o, s: o, s: o, s: o}", "JobSpec", job_new(), "Data", data_new(), "ColumnRule",
                described_new("How a column of a table becomes features", &ep_column_table),
                "SweepSpec", sweep_new());
  for (int i = 0; i < VARIANTS; i++)
    json_object_set_new(
        schemas, variants_schemas[i].name,
        variants_new(variants_schemas[i].variants, variants_schemas[i].description));
  json_dumpf(schemas, stdout, JSON_INDENT(2));
  json_decref(schemas);
  printf("\n");
}
