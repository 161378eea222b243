/* completion.c: the command completion; and what a shell asks for as one types. */
#include <stdio.h>
#include <string.h>

#include "clients/epochctl/commands.h"

/* Shell words that print what a kind of word can be; "" for files and free text. */
static const char *source_of(ep_word_kind kind) {
  switch (kind) {
  case EP_WORD_JOB: return "jobs";
  case EP_WORD_DATASET: return "data";
  case EP_WORD_MODEL: return "models";
  case EP_WORD_EXAMPLE: return "examples";
  case EP_WORD_COMMAND: return "commands";
  case EP_WORD_FILE: return "files";
  default: return "";
  }
}

static void words_print(const char *bars) {
  for (; *bars; bars++) putchar(*bars == '|' ? ' ' : *bars);
}

static void flags_print(const ep_option *options) {
  for (; options->name; options++) {
    printf(" --%s", options->name);
    if (options->letter) printf(" -%c", options->letter);
  }
}

/* First words, and the second words of those that have two. */
static void commands_print(const char *first) {
  const char *before = "";
  for (const ep_command *command = EP_COMMANDS; command->name; command++) {
    size_t bytes = strcspn(command->name, " ");
    if (first) {
      if (command->name[bytes] == ' ' && strlen(first) == bytes &&
          strncmp(command->name, first, bytes) == 0)
        printf(" %s", command->name + bytes + 1);
    } else if (strncmp(before, command->name, bytes) != 0 || before[bytes] != ' ') {
      printf(" %.*s", (int)bytes, command->name);
    }
    before = command->name;
  }
}

/* Which names have a second word. */
static void groups_print(void) {
  printf("  case \"$command\" in\n");
  const char *before = "";
  for (const ep_command *command = EP_COMMANDS; command->name; command++) {
    size_t bytes = strcspn(command->name, " ");
    if (command->name[bytes] != ' ') continue;
    if (strncmp(before, command->name, bytes + 1) == 0) continue;
    before = command->name;
    printf("  %.*s) seconds=\"", (int)bytes, command->name);
    char group[32];
    snprintf(group, sizeof group, "%.*s", (int)bytes, command->name);
    commands_print(group);
    printf("\" ;;\n");
  }
  printf("  esac\n");
}

static void table_print(void) {
  printf("  case \"$command\" in\n");
  for (const ep_command *command = EP_COMMANDS; command->name; command++) {
    printf("  '%s') flags=\"", command->name);
    flags_print(command->options);
    printf("\" kind='%s' words='", source_of(command->kind));
    if (command->choices) words_print(command->choices);
    printf("' ;;\n");
  }
  printf("  esac\n");
}

static const char *value_source(const ep_option *option) {
  return option->kind == EP_OPTION_FILE ? "files" : "";
}

static void values_print(const ep_option *options, const char *command) {
  for (; options->name; options++) {
    if (!options->value) continue;
    printf("  '%s --%s'", command, options->name);
    if (options->letter) printf(" | '%s -%c'", command, options->letter);
    printf(") kind='%s' words='", value_source(options));
    if (options->kind == EP_OPTION_CHOICE) words_print(options->value);
    printf("' value=1 ;;\n");
  }
}

static void option_values_print(void) {
  printf("  case \"$command $previous\" in\n");
  for (const ep_command *command = EP_COMMANDS; command->name; command++)
    values_print(command->options, command->name);
  printf("  esac\n  case \" $previous\" in\n");
  values_print(EP_GLOBAL_OPTIONS, "");
  printf("  esac\n");
}

/* Options with a value: their values are no commands. */
static void taking_print(void) {
  for (const ep_option *option = EP_GLOBAL_OPTIONS; option->name; option++) {
    if (!option->value) continue;
    printf("--%s ", option->name);
    if (option->letter) printf("-%c ", option->letter);
  }
}

/* From the words before the cursor (an array named `line`, from 1 to `last`) to what can follow:
 * sets `words` (a list) or `kind` to "files". Plain enough for bash and zsh alike. */
static void body_print(void) {
  printf("  command='' seconds='' flags='' kind='' words='' value='' previous='' server=''\n"
         "  local word skip=''\n"
         "  for word in \"${line[@]}\"; do\n"
         "    previous=$word\n"
         "    if [[ -n $skip ]]; then\n"
         "      [[ $skip == -s || $skip == --server ]] && server=$word\n"
         "      skip=''\n"
         "    elif [[ ' ");
  taking_print();
  printf("' == *\" $word \"* ]]; then skip=$word\n"
         "    elif [[ $word == -* ]]; then :\n"
         "    elif [[ -z $command ]]; then\n"
         "      command=$word\n");
  groups_print();
  printf("    elif [[ -n $seconds ]]; then\n"
         "      command=\"$command $word\" seconds=''\n"
         "    fi\n"
         "  done\n");
  table_print();
  printf("  if [[ -z $command ]]; then\n    words='");
  commands_print(NULL);
  printf("'\n  elif [[ -n $seconds ]]; then\n    words=$seconds\n  fi\n");
  option_values_print();
  printf("  if [[ -z $value && $current == -* ]]; then\n"
         "    kind='' words=\"$flags");
  flags_print(EP_GLOBAL_OPTIONS);
  printf("\"\n  fi\n"
         "  local -a ask=(epochctl --timeout 2)\n"
         "  [[ -n $server ]] && ask+=(--server \"$server\")\n"
         "  case \"$kind\" in\n"
         "  jobs) words=\"last $(\"${ask[@]}\" ls -q --limit 100 2>/dev/null)\" ;;\n"
         "  data) words=$(\"${ask[@]}\" data ls -q 2>/dev/null) ;;\n"
         "  models) words=$(\"${ask[@]}\" models ls -q 2>/dev/null) ;;\n"
         "  examples) words=$(epochctl example --list -q 2>/dev/null) ;;\n"
         "  commands) words='");
  commands_print(NULL);
  printf("' ;;\n  esac\n");
}

/* Not by compgen -W, which would run what a server's words hold in $( ). A word that a shell reads
 * as more than itself is not offered at all: it would be run with the line. */
static void bash_print(void) {
  printf("# bash completion of epochctl, printed by `epochctl completion bash`\n"
         "_epochctl() {\n"
         "  local current=${COMP_WORDS[COMP_CWORD]} command seconds flags kind words value "
         "previous server\n"
         "  local -a line=(\"${COMP_WORDS[@]:1:COMP_CWORD-1}\")\n");
  body_print();
  printf("  COMPREPLY=()\n"
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

static void zsh_print(void) {
  printf("#compdef epochctl\n"
         "# zsh completion of epochctl, printed by `epochctl completion zsh`\n"
         "_epochctl() {\n"
         "  local current=${words[CURRENT]} command seconds flags kind value previous server\n"
         "  local -a line=(\"${(@)words[2,CURRENT-1]}\")\n"
         "  local words=''\n");
  body_print();
  printf("  if [[ $kind == files ]]; then\n"
         "    _files\n"
         "  else\n"
         "    compadd -- ${=words}\n"
         "  fi\n"
         "}\n"
         "if [[ ${funcstack[1]} == _epochctl ]]; then _epochctl \"$@\"; else compdef _epochctl "
         "epochctl; fi\n");
}

ep_status ep_command_completion(ep_session *session, const ep_arguments *arguments,
                                ep_error *error) {
  (void)session;
  if (strcmp(arguments->words[0], "bash") == 0)
    bash_print();
  else if (strcmp(arguments->words[0], "zsh") == 0)
    zsh_print();
  else
    return ep_fail(error, EP_INVALID, "there are completions for bash and zsh, not for \"%.64s\"",
                   arguments->words[0]);
  return EP_OK;
}
