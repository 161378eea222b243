#include "clients/epochctl/manual/manual.h"

#include <string.h>

#include "api/arguments/help.h"
#include "clients/epochctl/manual/words.h"

static void rows_print(FILE *out, const ep_manual_row *row) {
  for (; row->name; row++) ep_help_row(out, row->name, row->text);
}

void ep_manual_overview(FILE *out, const ep_subcommand_table *table) {
  char title[EP_MANUAL_TITLE_BYTES];
  fprintf(out, "usage: epochctl [OPTIONS] COMMAND …\n\n");
  ep_help_wrap(out, EP_MANUAL_PURPOSE, 0, 0);
  const ep_subcommand_group *group = table->groups;
  for (const ep_subcommand *const *row = table->rows; *row; row++) {
    if (*row == group->first) fprintf(out, "\n%s\n", (group++)->title);
    ep_manual_title(*row, title);
    ep_help_row(out, title, (*row)->summary);
  }
  fprintf(out, "\noptions, before or after the command\n");
  ep_help_options(out, table->options);
  fprintf(out, "\n");
  ep_help_wrap(out, EP_MANUAL_JOBS, 0, 0);
  fprintf(out, "\nexit status\n");
  rows_print(out, EP_MANUAL_EXIT_STATUSES);
  fprintf(out, "\nenvironment\n");
  rows_print(out, EP_MANUAL_ENVIRONMENT);
  fprintf(out, "\nSee epochctl help COMMAND; start with epochctl train FILE\n");
}

/* Each line of `text` behind a prefix. */
static void lines_print(FILE *out, const char *prefix, const char *text) {
  while (*text) {
    int bytes = (int)strcspn(text, "\n");
    fprintf(out, "%s%.*s\n", prefix, bytes, text);
    text += bytes + (text[bytes] != 0);
  }
}

void ep_manual_subcommand(FILE *out, const ep_subcommand *subcommand) {
  char title[EP_MANUAL_TITLE_BYTES];
  ep_manual_title(subcommand, title);
  fprintf(out, "usage: epochctl %s%s\n\n%s\n", title, subcommand->options ? " [OPTIONS]" : "",
          subcommand->summary);
  if (subcommand->details) {
    fprintf(out, "\n");
    ep_help_wrap(out, subcommand->details, 0, 0);
  }
  if (subcommand->options) {
    fprintf(out, "\noptions\n");
    ep_help_options(out, subcommand->options);
  }
  if (strstr(subcommand->words, "JOB") || strstr(subcommand->words, "SWEEP")) {
    fprintf(out, "\n");
    ep_help_wrap(out, EP_MANUAL_JOBS, 0, 0);
  }
  if (subcommand->examples) {
    fprintf(out, "\nexamples\n");
    lines_print(out, "  ", subcommand->examples);
  }
}
