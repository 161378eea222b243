#include "clients/epochctl/manual/manual.h"

#include <stdbool.h>

#include "api/arguments/help.h"
#include "clients/epochctl/manual/words.h"

/* A cell of a Markdown table: bars are escaped. */
static void cell_write(FILE *out, const char *text, bool code) {
  if (code) putc('`', out);
  for (; *text; text++) {
    if (*text == '|') putc('\\', out);
    putc(*text, out);
  }
  if (code) putc('`', out);
}

static void row_write(FILE *out, const char *name, const char *text) {
  fputs("| ", out);
  cell_write(out, name, true);
  fputs(" | ", out);
  cell_write(out, text, false);
  fputs(" |\n", out);
}

static void rows_write(FILE *out, const ep_manual_row *row) {
  for (; row->name; row++) row_write(out, row->name, row->text);
}

static void options_write(FILE *out, const ep_option *options) {
  char label[EP_HELP_LABEL_BYTES];
  if (!options) return;
  fputs("| | |\n|---|---|\n", out);
  for (; options->name; options++) {
    ep_help_label(options, label);
    row_write(out, label, options->doc);
  }
  fputs("\n", out);
}

static void subcommand_write(FILE *out, const ep_subcommand *subcommand) {
  char title[EP_MANUAL_TITLE_BYTES];
  ep_manual_title(subcommand, title);
  fprintf(out, "### epochctl %s\n\n", title);
  ep_help_wrap(out, subcommand->summary, 0, 0);
  fputs("\n", out);
  if (subcommand->details) {
    ep_help_wrap(out, subcommand->details, 0, 0);
    fputs("\n", out);
  }
  options_write(out, subcommand->options);
  if (subcommand->examples) fprintf(out, "```sh\n%s\n```\n\n", subcommand->examples);
}

void ep_manual_markdown(FILE *out, const ep_subcommand_table *table) {
  fputs(
      "# epochctl\n\n<!-- Printed by `epochctl help --markdown` from its table of commands; a test "
      "compares. -->\n\n",
      out);
  ep_help_wrap(out, EP_MANUAL_PURPOSE, 0, 0);
  fputs("\n```sh\nepochctl example xor | epochctl run -\n```\n\n", out);
  ep_help_wrap(out, EP_MANUAL_JOBS, 0, 0);
  fputs("\n## Options\n\nOptions can be given before or after the command.\n\n", out);
  options_write(out, table->options);
  fputs("## Exit status\n\n| | |\n|---|---|\n", out);
  rows_write(out, EP_MANUAL_EXIT_STATUSES);
  fputs("\n## Environment\n\n| | |\n|---|---|\n", out);
  rows_write(out, EP_MANUAL_ENVIRONMENT);
  fputs("\n", out);
  const ep_subcommand_group *group = table->groups;
  for (const ep_subcommand *const *row = table->rows; *row; row++) {
    if (*row == group->first) fprintf(out, "## Commands: %s\n\n", (group++)->title);
    subcommand_write(out, *row);
  }
  fputs("The manual page is `man epochctl`; `epochctl completion bash`, `zsh` and `fish` print "
        "completions, which "
        "an installed epochctl\nbrings with it.\n",
        out);
}
