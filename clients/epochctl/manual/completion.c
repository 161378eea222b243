#include "clients/epochctl/manual/completion.h"

#include <stdbool.h>
#include <string.h>

/* The value of $kind in the script for a kind of word; "" for a free text or a choice. */
static const char *kind_name(ep_word_kind kind) {
  switch (kind) {
  case EP_WORD_JOB: return "jobs";
  case EP_WORD_SWEEP: return "sweeps";
  case EP_WORD_SUBMISSION: return "submissions";
  case EP_WORD_DATASET: return "data";
  case EP_WORD_MODEL: return "models";
  case EP_WORD_EXAMPLE: return "examples";
  case EP_WORD_SUBCOMMAND: return "commands";
  case EP_WORD_FILE: return "files";
  default: return "";
  }
}

/* "a|b" as "a b". */
static void choices_write(FILE *out, const char *choices) {
  for (; *choices; choices++) putc(*choices == '|' ? ' ' : *choices, out);
}

static void flags_write(FILE *out, const ep_option *options) {
  for (; options && options->name; options++) {
    fprintf(out, " --%s", options->name);
    if (options->letter) fprintf(out, " -%c", options->letter);
  }
}

/* Whether two names, "data put" and "data ls", have the same first word of two. */
static bool is_same_group(const char *name, const char *other) {
  size_t bytes = strcspn(name, " ");
  return name[bytes] == ' ' && strncmp(name, other, bytes + 1) == 0;
}

/* The first words of all names, each once. */
static void first_words_write(FILE *out, const ep_subcommand_table *table) {
  const char *before = "";
  for (const ep_subcommand *const *row = table->rows; *row; row++) {
    const char *name = (*row)->name;
    if (!is_same_group(name, before)) fprintf(out, " %.*s", (int)strcspn(name, " "), name);
    before = name;
  }
}

/* For each first word of two: the second words. */
static void groups_write(FILE *out, const ep_subcommand_table *table) {
  const char *before = "";
  fprintf(out, "  case \"$command\" in\n");
  for (const ep_subcommand *const *row = table->rows; *row; row++) {
    const char *name = (*row)->name;
    size_t bytes = strcspn(name, " ");
    if (!name[bytes] || is_same_group(name, before)) continue;
    before = name;
    fprintf(out, "  %.*s) seconds=\"", (int)bytes, name);
    for (const ep_subcommand *const *other = row; *other; other++)
      if (is_same_group(name, (*other)->name)) fprintf(out, " %s", (*other)->name + bytes + 1);
    fprintf(out, "\" ;;\n");
  }
  fprintf(out, "  esac\n");
}

static void subcommands_write(FILE *out, const ep_subcommand_table *table) {
  fprintf(out, "  case \"$command\" in\n");
  for (const ep_subcommand *const *row = table->rows; *row; row++) {
    fprintf(out, "  '%s') flags=\"", (*row)->name);
    flags_write(out, (*row)->options);
    fprintf(out, "\" kind='%s' words='", kind_name((*row)->kind));
    if ((*row)->kind == EP_WORD_CHOICE) choices_write(out, (*row)->words);
    if ((*row)->then) {
      fprintf(out, "'\n    ((count > 0)) && kind='%s' words='", kind_name((*row)->then));
      if ((*row)->choices) choices_write(out, (*row)->choices);
    }
    fprintf(out, "' ;;\n");
  }
  fprintf(out, "  esac\n");
}

static void values_write(FILE *out, const ep_option *options, const char *command) {
  for (; options && options->name; options++) {
    if (!options->value) continue;
    fprintf(out, "  '%s --%s'", command, options->name);
    if (options->letter) fprintf(out, " | '%s -%c'", command, options->letter);
    fprintf(out, ") kind='%s' words='", options->kind == EP_OPTION_FILE ? "files" : "");
    if (options->kind == EP_OPTION_CHOICE) choices_write(out, options->value);
    fprintf(out, "' value=1 ;;\n");
  }
}

static void option_values_write(FILE *out, const ep_subcommand_table *table) {
  fprintf(out, "  case \"$command $previous\" in\n");
  for (const ep_subcommand *const *row = table->rows; *row; row++)
    values_write(out, (*row)->options, (*row)->name);
  fprintf(out, "  esac\n  case \" $previous\" in\n");
  values_write(out, table->options, "");
  fprintf(out, "  esac\n");
}

/* The options before a command whose next word is their value. */
static void value_flags_write(FILE *out, const ep_option *option) {
  for (; option->name; option++) {
    if (!option->value) continue;
    fprintf(out, "--%s ", option->name);
    if (option->letter) fprintf(out, "-%c ", option->letter);
  }
}

/* The part that bash and zsh share: reads the words before the cursor (the array `line`) and the
 * word at it (`current`), and sets `words`, a list, or `kind` to "files". */
static void body_write(FILE *out, const ep_subcommand_table *table) {
  fprintf(
      out,
      "  count=0 command='' seconds='' flags='' kind='' words='' value='' previous='' server=''\n"
      "  local word skip=''\n"
      "  for word in \"${line[@]}\"; do\n"
      "    previous=$word\n"
      "    if [[ -n $skip ]]; then\n"
      "      [[ $skip == -s || $skip == --server ]] && server=$word\n"
      "      skip=''\n"
      "    elif [[ ' ");
  value_flags_write(out, table->options);
  fprintf(out, "' == *\" $word \"* ]]; then skip=$word\n"
               "    elif [[ $word == -* ]]; then :\n"
               "    elif [[ -z $command ]]; then\n"
               "      command=$word\n");
  groups_write(out, table);
  fprintf(out, "    elif [[ -n $seconds ]]; then\n"
               "      command=\"$command $word\" seconds=''\n"
               "    else\n"
               "      ((++count))\n"
               "    fi\n"
               "  done\n");
  subcommands_write(out, table);
  fprintf(out, "  if [[ -z $command ]]; then\n    words='");
  first_words_write(out, table);
  fprintf(out, "'\n  elif [[ -n $seconds ]]; then\n    words=$seconds\n  fi\n");
  option_values_write(out, table);
  fprintf(out, "  if [[ -z $value && $current == -* ]]; then\n"
               "    kind='' words=\"$flags");
  flags_write(out, table->options);
  fprintf(out, "\"\n  fi\n"
               "  local -a ask=(epochctl --timeout 2)\n"
               "  [[ -n $server ]] && ask+=(--server \"$server\")\n"
               "  case \"$kind\" in\n"
               "  jobs) words=\"last $(\"${ask[@]}\" ls -q --limit 100 2>/dev/null)\" ;;\n"
               "  sweeps) words=\"last $(\"${ask[@]}\" sweeps ls -q --limit 100 2>/dev/null)\" ;;\n"
               "  submissions)\n"
               "    words=\"last $(\"${ask[@]}\" ls -q --limit 100 2>/dev/null)\"\n"
               "    words+=\" $(\"${ask[@]}\" sweeps ls -q --limit 100 2>/dev/null)\"\n"
               "    ;;\n"
               "  data) words=$(\"${ask[@]}\" data ls -q 2>/dev/null) ;;\n"
               "  models) words=$(\"${ask[@]}\" models ls -q 2>/dev/null) ;;\n"
               "  examples) words=$(epochctl example --list -q 2>/dev/null) ;;\n"
               "  commands) words='");
  first_words_write(out, table);
  fprintf(out, "' ;;\n  esac\n");
}

/* Without compgen -W, which runs a $( ) in a name from the server. A name with a character that the
 * shell interprets is not offered: the shell would run it with the line. */
void ep_completion_bash(FILE *out, const ep_subcommand_table *table) {
  fprintf(out, "# bash completion of epochctl, printed by `epochctl completion bash`\n"
               "_epochctl() {\n"
               "  local current=${COMP_WORDS[COMP_CWORD]} command seconds flags kind words value "
               "previous server count\n"
               "  local -a line=(\"${COMP_WORDS[@]:1:COMP_CWORD-1}\")\n");
  body_write(out, table);
  fprintf(out, "  COMPREPLY=()\n"
               "  if [[ $kind == files ]]; then\n"
               "    compopt -o default 2>/dev/null\n"
               "  else\n"
               "    local -a offered=()\n"
               "    IFS=$' \\t\\n' read -r -d '' -a offered <<<\"$words\"\n"
               "    for word in \"${offered[@]}\"; do\n"
               "      [[ $word == \"$current\"* && $word != *[!A-Za-z0-9._:=/+,@%%-]* ]] && "
               "COMPREPLY+=(\"$word\")\n"
               "    done\n"
               "    return 0\n"
               "  fi\n"
               "}\n"
               "complete -F _epochctl epochctl\n");
}

void ep_completion_zsh(FILE *out, const ep_subcommand_table *table) {
  fprintf(out, "#compdef epochctl\n"
               "# zsh completion of epochctl, printed by `epochctl completion zsh`\n"
               "_epochctl() {\n"
               "  local current=${words[CURRENT]} command seconds flags kind value previous server "
               "count\n"
               "  local -a line=(\"${(@)words[2,CURRENT-1]}\")\n"
               "  local words=''\n");
  body_write(out, table);
  fprintf(out,
          "  if [[ $kind == files ]]; then\n"
          "    _files\n"
          "  else\n"
          "    compadd -- ${=words}\n"
          "  fi\n"
          "}\n"
          "if [[ ${funcstack[1]} == _epochctl ]]; then _epochctl \"$@\"; else compdef _epochctl "
          "epochctl; fi\n");
}

/* In single quotes, as fish reads them. */
static void fish_quote(FILE *out, const char *text) {
  putc('\'', out);
  for (; *text; text++) {
    if (*text == '\'' || *text == '\\') putc('\\', out);
    putc(*text, out);
  }
  putc('\'', out);
}

/* Whether the line has that command; `count`: and how many words behind it; NULL: any. */
static void fish_condition_write(FILE *out, const char *name, const char *count) {
  fprintf(out, "complete -c epochctl -n '__epochctl_has %s%s %s'", count ? "-" : "",
          count ? count : "", name);
}

static void fish_options_write(FILE *out, const ep_option *option, const char *name) {
  for (; option && option->name; option++) {
    if (name)
      fish_condition_write(out, name, NULL);
    else
      fprintf(out, "complete -c epochctl");
    fprintf(out, " -l %s", option->name);
    if (option->letter) fprintf(out, " -s %c", option->letter);
    if (option->kind == EP_OPTION_FILE)
      fprintf(out, " -rF");
    else if (option->value)
      fprintf(out, " -x");
    if (option->kind == EP_OPTION_CHOICE) {
      fprintf(out, " -a '");
      choices_write(out, option->value);
      putc('\'', out);
    }
    fprintf(out, " -d ");
    fish_quote(out, option->doc);
    putc('\n', out);
  }
}

/* What fish offers for a word: files, a list, or what the server knows. */
static void fish_words_write(FILE *out, const char *name, const char *count, ep_word_kind kind,
                             const char *choices) {
  fish_condition_write(out, name, count);
  if (kind == EP_WORD_FILE) {
    fprintf(out, " -F\n");
    return;
  }
  fprintf(out, " -a '");
  if (kind == EP_WORD_CHOICE)
    choices_write(out, choices);
  else if (*kind_name(kind))
    fprintf(out, "(__epochctl_words %s)", kind_name(kind));
  fprintf(out, "'\n");
}

static void fish_subcommand_write(FILE *out, const ep_subcommand *row) {
  size_t bytes = strcspn(row->name, " ");
  const char *second = row->name[bytes] ? row->name + bytes + 1 : NULL;
  fprintf(out, "complete -c epochctl -n '__epochctl_has -0 %.*s' -a %s -d ",
          second ? (int)bytes : 0, row->name, second ? second : row->name);
  fish_quote(out, row->summary);
  putc('\n', out);
  fish_words_write(out, row->name, row->then ? "0" : NULL, row->kind, row->words);
  if (row->then) fish_words_write(out, row->name, "1", row->then, row->choices);
  fish_options_write(out, row->options, row->name);
}

void ep_completion_fish(FILE *out, const ep_subcommand_table *table) {
  fprintf(out, "# fish completion of epochctl, printed by `epochctl completion fish`\n"
               "# The words of the line that are no options: the command and what is behind it.\n"
               "function __epochctl_line\n"
               "  set -l skip\n"
               "  for word in (commandline -opc)[2..]\n"
               "    if test -n \"$skip\"\n"
               "      set skip\n"
               "    else if contains -- $word ");
  value_flags_write(out, table->options);
  fprintf(out, "\n"
               "      set skip 1\n"
               "    else if not string match -q -- '-*' $word\n"
               "      echo $word\n"
               "    end\n"
               "  end\n"
               "end\n"
               "# __epochctl_has [-N] COMMAND…: the line begins with it, and has N words behind "
               "it, -1: one or more.\n"
               "function __epochctl_has\n"
               "  set -l line (__epochctl_line)\n"
               "  set -l wanted $argv\n"
               "  set -l behind\n"
               "  if string match -qr '^-[01]$' -- \"$argv[1]\"\n"
               "    set behind (string sub -s 2 -- $argv[1])\n"
               "    set wanted $argv[2..]\n"
               "  end\n"
               "  set -l size (count $wanted)\n"
               "  set -l count (math (count $line) - $size)\n"
               "  test $count -ge 0; or return 1\n"
               "  if test $size -gt 0\n"
               "    test \"$line[1..$size]\" = \"$wanted\"; or return 1\n"
               "  end\n"
               "  switch \"$behind\"\n"
               "    case 0\n"
               "      test $count -eq 0\n"
               "    case 1\n"
               "      test $count -ge 1\n"
               "    case '*'\n"
               "      true\n"
               "  end\n"
               "end\n"
               "function __epochctl_words\n"
               "  switch $argv[1]\n"
               "    case jobs submissions\n"
               "      echo last\n"
               "      epochctl --timeout 2 ls -q --limit 100 2>/dev/null\n"
               "    case sweeps\n"
               "      echo last\n"
               "    case data models\n"
               "      epochctl --timeout 2 $argv[1] ls -q 2>/dev/null\n"
               "    case examples\n"
               "      epochctl example --list -q 2>/dev/null\n"
               "    case commands\n"
               "      string split ' ' -- '");
  first_words_write(out, table);
  fprintf(out, "'\n"
               "  end\n"
               "  if contains -- $argv[1] sweeps submissions\n"
               "    epochctl --timeout 2 sweeps ls -q --limit 100 2>/dev/null\n"
               "  end\n"
               "end\n"
               "complete -c epochctl -f\n");
  fish_options_write(out, table->options, NULL);
  for (const ep_subcommand *const *row = table->rows; *row; row++) fish_subcommand_write(out, *row);
}
