/* words.c: the vocabularies of fields that hold a word. */
#include "api/spec/tables.h"

#define WORDS(word, prefix, what, later_words) \
  { what, EP_##prefix##_COUNT, ep_##word##_name, ep_##word##_from_name, later_words }
const ep_field_words ep_layer_words = WORDS(layer_type, LAYER, "layer", NULL);
const ep_field_words ep_loss_words = WORDS(loss_type, LOSS, "loss", NULL);
const ep_field_words ep_optimizer_words = WORDS(optimizer_type, OPTIMIZER, "optimizer", NULL);
const ep_field_words ep_schedule_words = WORDS(schedule_type, SCHEDULE, "schedule", NULL);
const ep_field_words ep_init_words = WORDS(init_type, INIT, "init", NULL);
const ep_field_words ep_webhook_words = WORDS(webhook, WEBHOOK, "event", NULL);
const ep_field_words ep_generator_words = WORDS(generator, GENERATOR, "generator", NULL);
const ep_field_words ep_precision_words = WORDS(precision, PRECISION, "precision", "fp16");
const ep_field_words ep_task_words = WORDS(task, TASK, "task", NULL);
const ep_field_words ep_column_as_words = WORDS(column_as, COLUMN_AS, "type", NULL);
const ep_field_words ep_fill_words = WORDS(fill, FILL, "filling", NULL);
const ep_field_words ep_unknown_word_words =
    WORDS(unknown_word, UNKNOWN_WORD, "treatment of unknown words", NULL);
const ep_field_words ep_category_words = WORDS(category, CATEGORY, "encoding", NULL);
const ep_field_words ep_column_scale_words = WORDS(column_scale, COLUMN_SCALE, "scale", NULL);
const ep_field_words ep_window_gaps_words =
    WORDS(window_gaps, WINDOW_GAPS, "treatment of missing cells", NULL);
