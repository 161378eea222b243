/* Prints what is said elsewhere of the tables that the parser walks:
 *   generate layers | losses | optimizers | schedules | data | job | sweep > docs/reference/PAGE.md
 *   generate vocabulary > clients/dashboard/vocabulary.js
 *   generate schemas, which schemas.py puts into api/openapi.json
 * `ctest -R docs.` fails where a committed file differs, and prints the command that mends it. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "api/json/number.h"
#include "api/spec/automatic.h"
#include "api/spec/tables.h"
#include "api/sweep/sweep_json.h"
#include "tests/docs/pages.h"

static void number_print(double number) {
  char text[EP_NUMBER_BYTES];
  ep_number_format(number, text);
  fputs(text, stdout);
}

/* The text of one cell: a bar would end it. */
static void cell_print(const char *text) {
  for (; *text; text++) {
    if (*text == '|') putchar('\\');
    putchar(*text);
  }
}

/* A paragraph of its own. */
static void sentence_print(const char *text) {
  printf("%c%s.\n\n", toupper((unsigned char)text[0]), text + 1);
}

static void range_print(const ep_field *field) {
  if (field->max >= EP_REAL_MAX && field->min <= -EP_REAL_MAX) return;
  if (field->max >= EP_REAL_MAX) {
    printf(field->open_min ? " above " : " of at least ");
    number_print(field->min);
    return;
  }
  printf(field->open_min ? " above " : " from ");
  number_print(field->min);
  printf(field->open_max ? " to below " : " to ");
  number_print(field->max);
}

static void words_print(const ep_field_words *words) {
  for (int i = 0; i < words->count; i++) printf("%s`\"%s\"`", i ? ", " : "", words->name(i));
}

static void type_print(const ep_field *field) {
  bool real = field->kind == EP_FIELD_DOUBLE ||
              (field->kind == EP_FIELD_PAIR && field->element == EP_FIELD_DOUBLE);
  switch (field->kind) {
  case EP_FIELD_INT:
  case EP_FIELD_INT64:
  case EP_FIELD_UINT64:
  case EP_FIELD_DOUBLE:
    printf("%s", real ? "number" : "integer");
    range_print(field);
    if (field->zero_word) printf(", or `\"%s\"`", field->zero_word);
    break;
  case EP_FIELD_PAIR:
    printf(field->alone ? "one or two %s" : "two %s", real ? "numbers" : "integers");
    range_print(field);
    break;
  case EP_FIELD_BOOL: printf("`true` or `false`"); break;
  case EP_FIELD_STRING:
    if (field->form)
      cell_print(field->form);
    else
      printf("text of at most %zu bytes", field->capacity - 1);
    break;
  case EP_FIELD_WORD: words_print(field->words); break;
  case EP_FIELD_OBJECT: printf("an object, see below"); break;
  case EP_FIELD_VARIANT: printf("a word, or an object with `type`"); break;
  case EP_FIELD_CUSTOM: cell_print(field->form); break;
  }
}

static void default_print(const ep_field *field) {
  if (field->required) {
    printf("required%s", field->automatic ? ", or `\"" EP_AUTOMATIC "\"`" : "");
    return;
  }
  switch (field->kind) {
  case EP_FIELD_INT:
  case EP_FIELD_INT64:
  case EP_FIELD_UINT64:
  case EP_FIELD_DOUBLE:
    if (field->fallback == 0 && field->zero_word)
      printf("`\"%s\"`", field->zero_word);
    else if (field->fallback == 0 && field->nullable)
      printf("`null`");
    else
      number_print(field->fallback);
    break;
  case EP_FIELD_PAIR:
    if (field->nullable && field->fallback == 0) {
      printf("`null`");
      break;
    }
    bool one = field->alone && field->fallback == field->second;
    if (!one) printf("[");
    number_print(field->fallback);
    if (one) break;
    printf(", ");
    number_print(field->second);
    printf("]");
    break;
  case EP_FIELD_BOOL: printf(field->fallback != 0 ? "`true`" : "`false`"); break;
  case EP_FIELD_STRING:
    if (field->nullable)
      printf("`null`");
    else
      printf("`\"%s\"`", field->text_fallback ? field->text_fallback : "");
    break;
  case EP_FIELD_WORD: printf("`\"%s\"`", field->words->name((int)field->fallback)); break;
  case EP_FIELD_OBJECT: printf(field->given ? "`null`" : "its defaults"); break;
  case EP_FIELD_VARIANT:
    printf("`\"%s\"`", field->variants->words->name((int)field->fallback));
    break;
  case EP_FIELD_CUSTOM: printf("`%s`", field->text_fallback ? field->text_fallback : ""); break;
  }
}

static void rows_print(const ep_field_table *table) {
  if (!table) {
    printf("No fields.\n\n");
    return;
  }
  printf("| field | type | default | |\n|---|---|---|---|\n");
  for (; table; table = table->base) {
    for (int i = 0; i < table->count; i++) {
      const ep_field *field = &table->fields[i];
      printf("| `%s` | ", field->key);
      type_print(field);
      printf(" | ");
      default_print(field);
      printf(" | ");
      cell_print(field->doc);
      printf(" |\n");
    }
  }
  printf("\n");
}

/* The objects that fields of the table hold, each with its own table. */
static void objects_print(const ep_field_table *table, const char *path) {
  for (; table; table = table->base) {
    for (int i = 0; i < table->count; i++) {
      const ep_field *field = &table->fields[i];
      if (field->kind != EP_FIELD_OBJECT) continue;
      char inner[128];
      snprintf(inner, sizeof inner, "%s%s%s", path, path[0] ? "." : "", field->key);
      printf("### `%s`\n\n", inner);
      sentence_print(field->doc);
      rows_print(field->table);
      objects_print(field->table, inner);
    }
  }
}

static void variants_print(const ep_field_variants *variants) {
  for (int i = 0; i < variants->words->count; i++) {
    const ep_field_about *about = &variants->about[i];
    printf("## %s\n\n", variants->words->name(i));
    sentence_print(about->doc);
    if (about->formula) printf("```text\n%s\n```\n\n", about->formula);
    rows_print(ep_field_variant_table(variants, i));
  }
}

static void title_print(const char *title, const char *text) {
  printf(
      "# %s\n\n<!-- Printed by tests/docs/generate.c from the tables of api/: change those. -->\n\n"
      "%s\n\n",
      title, text);
}

static void layers_print(void) {
  title_print(
      "Layers",
      "`model.layers` is an array of objects, each with a `type` and the fields of that type. "
      "Names, defaults\nand formulas are torch.nn's; [C, H, W] is an image, anything else a "
      "vector. Where one or two integers\nare taken, two are [height, width].");
  variants_print(&ep_layer_variants);
  printf(
      "## The first weights\n\n`init` of linear, conv1d, conv2d, embedding and gru. fan_in counts "
      "the values "
      "that an output is a sum of, fan_out\nthose that an input goes into.\n\n"
      "| `init` | weight | bias |\n|---|---|---|\n"
      "| `\"default\"` | U(-a, a), a = 1 / sqrt(fan_in); embedding: N(0, 1); gru: "
      "a = 1 / sqrt(hidden_size) | U(-a, a) |\n"
      "| `\"xavier\"` | U(-a, a), a = sqrt(6 / (fan_in + fan_out)) | 0 |\n"
      "| `\"kaiming\"` | U(-a, a), a = sqrt(6 / fan_in) | 0 |\n"
      "| `\"normal\"` | N(0, 0.01^2) | 0 |\n"
      "| `\"zeros\"` | 0 | 0 |\n\n"
      "Norms start with weight 1, bias 0, running mean 0, running variance 1.\n");
}

static void losses_print(void) {
  title_print("Losses",
              "`loss` is a word, or an object with a `type` and the fields of that type. z is the "
              "network's output, y\nthe target; the mean is over all rows and columns.");
  variants_print(&ep_loss_variants);
}

static void optimizers_print(void) {
  title_print(
      "Optimizers",
      "`optimizer` is a word, or an object with a `type` and the fields of that type. Formulas "
      "and defaults\nare torch.optim's: p is a parameter, g its gradient (with `weight_decay` "
      "p added, but for adamw and\nlion), t counts steps from 1, state starts at 0.");
  variants_print(&ep_optimizer_variants);
}

static void schedules_print(void) {
  title_print(
      "Schedules",
      "`schedule` is a word, or an object with a `type` and the fields of that type. Formulas "
      "are\ntorch.optim.lr_scheduler's: lr is the optimizer's, e counts epochs from 0. In the "
      "first `warmup_epochs`\nthat figure is multiplied by f + (1 - f) s / S in step s of S steps, "
      "counted from 1, with f = `warmup_factor`:\nso epoch 1 of n ends 1/n of the way, and epoch "
      "n at the full rate.");
  variants_print(&ep_schedule_variants);
}

/* `own`: rows of a source before those that all have. */
static void source_print(const char *name, const ep_field_table *table) {
  ep_field_table own = {table->fields, table->count, NULL};
  printf("## %s\n\n", name);
  rows_print(&own);
  objects_print(&own, "data");
}

static void data_print(void) {
  title_print("Data", "`data` names one source of rows, and says how they are split and scaled.");
  source_print("A dataset", ep_data_table(EP_DATA_DATASET, EP_GENERATOR_XOR));
  source_print("A path", ep_data_table(EP_DATA_PATH, EP_GENERATOR_XOR));
  source_print("Rows in the job", ep_data_table(EP_DATA_INLINE, EP_GENERATOR_XOR));
  for (int i = 0; i < EP_GENERATOR_COUNT; i++) {
    char name[64];
    snprintf(name, sizeof name, "The generator %s", ep_generator_name(i));
    source_print(name, ep_data_table(EP_DATA_GENERATOR, (ep_generator)i));
  }
  printf("## A column\n\nWhat `data.columns` says of a column, or of all whose names match a glob "
         "(`*`, `?`): an object of\nthese fields.\n\n");
  rows_print(&ep_column_table);
  const ep_field_table *all = ep_data_table(EP_DATA_DATASET, EP_GENERATOR_XOR)->base;
  printf("## For every source\n\n");
  rows_print(all);
  objects_print(all, "data");
  printf(
      "What a value becomes: (value scale - mean) / std. Bytes stay bytes on the device and are "
      "scaled where\nthey are used. A training image is shifted, then mirrored, then cropped.\n");
}

static void job_print(void) {
  title_print("The job",
              "What `POST /v1/jobs` takes. See [data](data.md), [layers](layers.md), "
              "[losses](losses.md),\n[optimizers](optimizers.md), [schedules](schedules.md).");
  rows_print(&ep_spec_table);
  objects_print(&ep_spec_table, "");
}

static void sweep_print(void) {
  title_print("The sweep",
              "What `POST /v1/sweeps` takes: a [job](job.md), the fields of it that vary, and how "
              "the best is searched.");
  rows_print(&ep_sweep_table);
  objects_print(&ep_sweep_table, "");
}

int main(int count, char **arguments) {
  static const struct {
    const char *name;
    void (*print)(void);
  } pages[] = {{"layers", layers_print},
               {"losses", losses_print},
               {"optimizers", optimizers_print},
               {"schedules", schedules_print},
               {"data", data_print},
               {"job", job_print},
               {"sweep", sweep_print},
               {"vocabulary", ep_vocabulary_print},
               {"schemas", ep_schemas_print}};
  for (size_t i = 0; count == 2 && i < sizeof pages / sizeof pages[0]; i++) {
    if (strcmp(arguments[1], pages[i].name) != 0) continue;
    pages[i].print();
    return fflush(stdout) != 0;
  }
  fprintf(stderr,
          "usage: generate layers|losses|optimizers|schedules|data|job|sweep|vocabulary|schemas\n");
  return 2;
}
