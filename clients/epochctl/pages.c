#include "clients/epochctl/pages.h"

#include <string.h>

#include "api/arguments/help.h"

static const char PURPOSE[] =
    "epochctl speaks with epochd, a daemon that trains neural networks: it submits jobs, shows how "
    "they learn, and fetches what was learnt.";

static const struct {
  const char *title, *text;
} ENVIRONMENT[] = {
    {"EPOCHD_SERVER, EPOCHD", "where epochd is, when --server does not say"},
    {"EPOCHD_TOKEN", "the token, when --token-file does not say"},
    {"NO_COLOR", "if set, no colours; there are none in a pipe"},
    {"COLUMNS",
     "the width of tables and plots in a pipe, where tables are else as wide as they like"},
    {"LC_ALL, LC_CTYPE, LANG", "whether characters beyond ASCII are drawn: when they say UTF-8"},
};
static const struct {
  const char *code, *text;
} CODES[] = {
    {"0", "done; of run and watch: the job succeeded"},
    {"1", "the job failed or was cancelled"},
    {"2", "wrong usage, or the server refused: no such job, a spec with faults, the wrong state"},
    {"3", "no answer, no permission, too busy, or a failure on either side"},
    {"130", "Ctrl-C while watching; the job goes on"},
};
static const char JOBS[] = "JOB is a whole id, the start or the end of one (job_ may be left out) "
                           "that only one job has, or "
                           "last: the newest.";

#define COUNT(table) (sizeof table / sizeof table[0])

static void command_name(const ep_command *command, char *text, size_t bytes) {
  snprintf(text, bytes, "%s%s%s", command->name, *command->words ? " " : "", command->words);
}

void ep_page_overview(FILE *out) {
  char name[128];
  fprintf(out, "usage: epochctl [OPTIONS] COMMAND …\n\n");
  ep_help_wrap(out, PURPOSE, 0, 0);
  fprintf(out, "\ncommands\n");
  for (const ep_command *command = EP_COMMANDS; command->name; command++) {
    command_name(command, name, sizeof name);
    ep_help_row(out, name, command->summary);
  }
  fprintf(out, "\noptions, before or behind the command\n");
  ep_help_options(out, EP_GLOBAL_OPTIONS);
  fprintf(out, "\n");
  ep_help_wrap(out, JOBS, 0, 0);
  fprintf(out, "\nexit status\n");
  for (size_t i = 0; i < COUNT(CODES); i++) ep_help_row(out, CODES[i].code, CODES[i].text);
  fprintf(out, "\nenvironment\n");
  for (size_t i = 0; i < COUNT(ENVIRONMENT); i++)
    ep_help_row(out, ENVIRONMENT[i].title, ENVIRONMENT[i].text);
  fprintf(out,
          "\nepochctl help COMMAND says more; epochctl example xor | epochctl run - is a start\n");
}

/* Each line of `text` behind a prefix. */
static void lines(FILE *out, const char *prefix, const char *text) {
  while (*text) {
    int bytes = (int)strcspn(text, "\n");
    fprintf(out, "%s%.*s\n", prefix, bytes, text);
    text += bytes + (text[bytes] != 0);
  }
}

void ep_page_command(FILE *out, const ep_command *command) {
  char name[128];
  command_name(command, name, sizeof name);
  fprintf(out, "usage: epochctl %s%s\n\n%s\n", name, command->options->name ? " [OPTIONS]" : "",
          command->summary);
  if (command->details) {
    fprintf(out, "\n");
    ep_help_wrap(out, command->details, 0, 0);
  }
  if (command->options->name) {
    fprintf(out, "\noptions\n");
    ep_help_options(out, command->options);
  }
  if (strstr(command->words, "JOB")) {
    fprintf(out, "\n");
    ep_help_wrap(out, JOBS, 0, 0);
  }
  if (command->examples) {
    fprintf(out, "\nexamples\n");
    lines(out, "  ", command->examples);
  }
}

/* Text of a manual page: a backslash, a dash and a dot at a line's start mean something there. */
static void roff(FILE *out, const char *text) {
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

static void roff_item(FILE *out, const char *name, const char *text) {
  fputs(".TP\n.B ", out);
  roff(out, name);
  fputs("\n", out);
  roff(out, text);
  fputs("\n", out);
}

static void roff_options(FILE *out, const ep_option *options) {
  char name[EP_HELP_LABEL_BYTES];
  for (; options->name; options++) {
    ep_help_label(options, name);
    roff_item(out, name, options->doc);
  }
}

static void roff_command(FILE *out, const ep_command *command) {
  char name[128];
  command_name(command, name, sizeof name);
  fputs(".SS ", out);
  roff(out, name);
  fprintf(out, "\n");
  roff(out, command->summary);
  fprintf(out, ".\n");
  if (command->details) {
    fputs(".PP\n", out);
    roff(out, command->details);
    fputs("\n", out);
  }
  roff_options(out, command->options);
  if (!command->examples) return;
  fputs(".PP\n.nf\n.RS\n", out);
  roff(out, command->examples);
  fputs("\n.RE\n.fi\n", out);
}

void ep_page_man(FILE *out) {
  fputs(".TH EPOCHCTL 1 \"\" \"epochd " EP_VERSION "\" \"User Commands\"\n"
        ".SH NAME\nepochctl \\- train neural networks with epochd\n"
        ".SH SYNOPSIS\n.B epochctl\n[\\fIOPTIONS\\fR] \\fICOMMAND\\fR ...\n.SH DESCRIPTION\n",
        out);
  roff(out, PURPOSE);
  fputs("\n.PP\n", out);
  roff(out, JOBS);
  fputs("\n.SH OPTIONS\nThese stand before or behind the command.\n", out);
  roff_options(out, EP_GLOBAL_OPTIONS);
  fputs(".SH COMMANDS\n", out);
  for (const ep_command *command = EP_COMMANDS; command->name; command++)
    roff_command(out, command);
  fputs(".SH EXIT STATUS\n", out);
  for (size_t i = 0; i < COUNT(CODES); i++) roff_item(out, CODES[i].code, CODES[i].text);
  fputs(".SH ENVIRONMENT\n", out);
  for (size_t i = 0; i < COUNT(ENVIRONMENT); i++)
    roff_item(out, ENVIRONMENT[i].title, ENVIRONMENT[i].text);
  fputs(".SH SEE ALSO\nThe guide of epochd, and its contract at\n.IR /openapi.json .\n", out);
}

/* A cell of a Markdown table: a bar would end it. */
static void cell(FILE *out, const char *text, bool code) {
  if (code) putc('`', out);
  for (; *text; text++) {
    if (*text == '|') putc('\\', out);
    putc(*text, out);
  }
  if (code) putc('`', out);
}

static void markdown_row(FILE *out, const char *name, const char *text) {
  fputs("| ", out);
  cell(out, name, true);
  fputs(" | ", out);
  cell(out, text, false);
  fputs(" |\n", out);
}

static void markdown_options(FILE *out, const ep_option *options) {
  char name[EP_HELP_LABEL_BYTES];
  if (!options->name) return;
  fputs("| | |\n|---|---|\n", out);
  for (; options->name; options++) {
    ep_help_label(options, name);
    markdown_row(out, name, options->doc);
  }
  fputs("\n", out);
}

static void markdown_command(FILE *out, const ep_command *command) {
  char name[128];
  command_name(command, name, sizeof name);
  fprintf(out, "### epochctl %s\n\n", name);
  ep_help_wrap(out, command->summary, 0, 0);
  fputs("\n", out);
  if (command->details) {
    ep_help_wrap(out, command->details, 0, 0);
    fputs("\n", out);
  }
  markdown_options(out, command->options);
  if (command->examples) fprintf(out, "```sh\n%s\n```\n\n", command->examples);
}

void ep_page_markdown(FILE *out) {
  fputs(
      "# epochctl\n\n<!-- Printed by `epochctl help --markdown` from its table of commands; a test "
      "compares. -->\n\n",
      out);
  ep_help_wrap(out, PURPOSE, 0, 0);
  fputs("\n```sh\nepochctl example xor | epochctl run -\n```\n\n", out);
  ep_help_wrap(out, JOBS, 0, 0);
  fputs("\n## Options\n\nThey stand before or behind the command.\n\n", out);
  markdown_options(out, EP_GLOBAL_OPTIONS);
  fputs("## Exit status\n\n| | |\n|---|---|\n", out);
  for (size_t i = 0; i < COUNT(CODES); i++) markdown_row(out, CODES[i].code, CODES[i].text);
  fputs("\n## Environment\n\n| | |\n|---|---|\n", out);
  for (size_t i = 0; i < COUNT(ENVIRONMENT); i++)
    markdown_row(out, ENVIRONMENT[i].title, ENVIRONMENT[i].text);
  fputs("\n## Commands\n\n", out);
  for (const ep_command *command = EP_COMMANDS; command->name; command++)
    markdown_command(out, command);
  fputs("The manual page is `man epochctl`; `epochctl completion bash` and `zsh` print "
        "completions, which "
        "an installed epochctl\nbrings with it.\n",
        out);
}
