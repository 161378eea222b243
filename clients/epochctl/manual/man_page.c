#include "clients/epochctl/manual/manual.h"

#include <stdbool.h>
#include <string.h>

#include "api/arguments/help.h"
#include "clients/epochctl/manual/words.h"

/* Escapes what roff reads as its own: a backslash, a dash, a dot at the start of a line. */
static void text_write(FILE *out, const char *text) {
  bool starts = true;
  for (; *text; text++) {
    if (starts && (*text == '.' || *text == '\'')) fputs("\\&", out);
    starts = *text == '\n';
    if (*text == '\\')
      fputs("\\e", out);
    else if (*text == '-')
      fputs("\\-", out);
    else if (strncmp(text, "…", 3) == 0)
      fputs("...", out), text += 2;
    else if (*text == '\n' && text[1] == '\n')
      fputs("\n.PP\n", out), text++;
    else
      putc(*text, out);
  }
}

static void item_write(FILE *out, const char *name, const char *text) {
  fputs(".TP\n.B ", out);
  text_write(out, name);
  fputs("\n", out);
  text_write(out, text);
  fputs("\n", out);
}

static void rows_write(FILE *out, const ep_manual_row *row) {
  for (; row->name; row++) item_write(out, row->name, row->text);
}

static void options_write(FILE *out, const ep_option *options) {
  char label[EP_HELP_LABEL_BYTES];
  for (; options && options->name; options++) {
    ep_help_label(options, label);
    item_write(out, label, options->doc);
  }
}

static void subcommand_write(FILE *out, const ep_subcommand *subcommand) {
  char title[EP_MANUAL_TITLE_BYTES];
  ep_manual_title(subcommand, title);
  fputs(".SS ", out);
  text_write(out, title);
  fprintf(out, "\n");
  text_write(out, subcommand->summary);
  fprintf(out, ".\n");
  if (subcommand->details) {
    fputs(".PP\n", out);
    text_write(out, subcommand->details);
    fputs("\n", out);
  }
  options_write(out, subcommand->options);
  if (!subcommand->examples) return;
  fputs(".PP\n.nf\n.RS\n", out);
  text_write(out, subcommand->examples);
  fputs("\n.RE\n.fi\n", out);
}

void ep_manual_man(FILE *out, const ep_subcommand_table *table) {
  fputs(".TH EPOCHCTL 1 \"\" \"epochd " EP_VERSION "\" \"User Commands\"\n"
        ".SH NAME\nepochctl \\- train neural networks with epochd\n"
        ".SH SYNOPSIS\n.B epochctl\n[\\fIOPTIONS\\fR] \\fICOMMAND\\fR ...\n.SH DESCRIPTION\n",
        out);
  text_write(out, EP_MANUAL_PURPOSE);
  fputs("\n.PP\n", out);
  text_write(out, EP_MANUAL_JOBS);
  fputs("\n.SH OPTIONS\nOptions can be given before or after the command.\n", out);
  options_write(out, table->options);
  const ep_subcommand_group *group = table->groups;
  for (const ep_subcommand *const *row = table->rows; *row; row++) {
    if (*row == group->first) fprintf(out, ".SH COMMANDS: %s\n", (group++)->title);
    subcommand_write(out, *row);
  }
  fputs(".SH EXIT STATUS\n", out);
  rows_write(out, EP_MANUAL_EXIT_STATUSES);
  fputs(".SH ENVIRONMENT\n", out);
  rows_write(out, EP_MANUAL_ENVIRONMENT);
  fputs(".SH SEE ALSO\nThe guide of epochd, and its contract at\n.IR /openapi.json .\n", out);
}
