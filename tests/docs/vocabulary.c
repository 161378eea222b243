/* vocabulary.c: the words and their fields as a module of the dashboard. */
#include <stdio.h>

#include "api/limits.h"
#include "api/names.h"
#include "api/spec/tables.h"
#include "tests/docs/pages.h"

/* What a form needs of a field's kind. */
static const char *kind_name(const ep_field *field) {
  switch (field->kind) {
  case EP_FIELD_INT:
  case EP_FIELD_INT64:
  case EP_FIELD_UINT64: return "integer";
  case EP_FIELD_DOUBLE: return "number";
  case EP_FIELD_PAIR: return "pair";
  case EP_FIELD_BOOL: return "boolean";
  case EP_FIELD_STRING: return "string";
  case EP_FIELD_WORD: return "word";
  default: return "json";
  }
}

static void field_print(const ep_field *field) {
  json_t *about = json_pack("{s: s}", "kind", kind_name(field));
  json_t *value = ep_field_default(field), *example = ep_field_json(field->example);
  if (field->required) json_object_set_new(about, "required", json_true());
  if (field->rare) json_object_set_new(about, "rare", json_true());
  if (value) json_object_set_new(about, "default", value);
  if (example) json_object_set_new(about, "example", example);
  printf("    %s: ", field->key);
  json_dumpf(about, stdout, JSON_REAL_PRECISION(15));
  printf(",\n");
  json_decref(about);
}

/* `group`: of each type, or NULL. */
static void words_print(const char *name, const ep_field_variants *variants,
                        const char *(*group)(int type)) {
  printf("\nexport const %s = {\n", name);
  for (int i = 0; i < variants->words->count; i++) {
    const ep_field_table *table = ep_field_variant_table(variants, i);
    printf("  %s: { ", variants->words->name(i));
    if (group) printf("group: \"%s\", ", group(i));
    printf(table ? "fields: {\n" : "fields: {");
    for (; table; table = table->base)
      for (int j = 0; j < table->count; j++) field_print(&table->fields[j]);
    printf(ep_field_variant_table(variants, i) ? "  } },\n" : "} },\n");
  }
  printf("};\n");
}

static const char *layer_group(int type) {
  return ep_layer_group_name(ep_layer_type_group((ep_layer_type)type));
}

#define PART(part, name) printf("  \"%s\": \"%s\",\n", part, name);

static void limits_print(void) {
  printf("\n// The daemon's limits.\nexport const limits = { trials: %d, comparedJobs: %d, "
         "predictSteps: %d };\n",
         EP_LIMIT_TRIALS, EP_LIMIT_COMPARED_JOBS, EP_LIMIT_PREDICT_STEPS);
  printf("\n// The parts of a dataset, and how the published files of MNIST begin that are one, "
         "before a character and \"idx\".\nexport const datasetParts = {\n");
  EP_DATASET_PART_TABLE(PART)
  printf("};\n");
}

void ep_vocabulary_print(void) {
  printf("// vocabulary.js: the words of a job and their fields. `rare` is seldom given; `example` "
         "is a first value\n// of a required field. Printed by tests/docs/generate.c from the "
         "tables of api/: change those.\n");
  words_print("layers", &ep_layer_variants, layer_group);
  words_print("losses", &ep_loss_variants, NULL);
  words_print("optimizers", &ep_optimizer_variants, NULL);
  words_print("schedules", &ep_schedule_variants, NULL);
  limits_print();
}
