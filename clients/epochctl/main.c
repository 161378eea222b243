/* epochctl: reads the command line, finds the command in the table, and says what went wrong. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <curl/curl.h>

#include "api/json/nearest.h"
#include "clients/epochctl/pages.h"

enum { TIMEOUT_SECONDS = 120 };

/* The server's words may be in it. */
static void say(const char *before, const char *text) {
  char safe[EP_MESSAGE_BYTES * 2];
  ep_text_copy(safe, sizeof safe, text);
  fprintf(stderr, "%s%s\n", before, safe);
}

static ep_exit exit_of(ep_status status) {
  bool asked_wrongly = ep_status_class(status) == EP_CLASS_CALLER && status != EP_UNAUTHORIZED &&
                       status != EP_FORBIDDEN && status != EP_BUSY;
  return asked_wrongly ? EP_EXIT_USAGE : EP_EXIT_TROUBLE;
}

/* Where only one field is at fault the detail says the same as its line. */
static ep_exit fail(const ep_session *session, ep_status status, const ep_error *error) {
  const ep_problem *problem = &session->problem;
  fflush(stdout);
  if (session->json && session->refusal) {
    fprintf(stderr, "%s\n", session->refusal);
    return exit_of(status);
  }
  if (problem->errors_count == 0 || strcmp(problem->errors[0].detail, error->message) != 0)
    say("epochctl: ", error->message);
  else
    say("epochctl: ", problem->errors_count == 1 ? "refused" : "refused, for several reasons");
  for (int i = 0; i < problem->errors_count; i++) {
    char line[EP_POINTER_BYTES + EP_MESSAGE_BYTES + 8];
    snprintf(line, sizeof line, "%s%s%s", problem->errors[i].pointer,
             *problem->errors[i].pointer ? ": " : "", problem->errors[i].detail);
    say("  ", line);
  }
  return exit_of(status);
}

static ep_exit usage(const ep_command *command, const char *message) {
  say("epochctl: ", message);
  if (command)
    fprintf(stderr, "usage: epochctl %s %s; epochctl help %s says more\n", command->name,
            command->words, command->name);
  else
    fprintf(stderr, "epochctl help says what there is\n");
  return EP_EXIT_USAGE;
}

static ep_exit run(ep_session *session, const ep_command *command, const ep_arguments *arguments) {
  ep_error error = {0};
  session->terminal = ep_terminal_find();
  session->json = ep_arguments_has(arguments, "json");
  session->timeout_s = (long)ep_arguments_integer(arguments, "timeout", TIMEOUT_SECONDS);
  ep_status status = ep_session_open(session, ep_arguments_value(arguments, "server"),
                                     ep_arguments_value(arguments, "token-file"), &error);
  if (!status) status = command->run(session, arguments, &error);
  ep_exit outcome = status ? fail(session, status, &error) : session->outcome;
  if (fflush(stdout) != 0 || ferror(stdout)) {
    say("epochctl: ", "standard output cannot be written");
    outcome = EP_EXIT_TROUBLE;
  }
  return outcome;
}

/* No command is called so: names those that begin with the word ("data"), or the nearest. */
static ep_exit unknown(const char *word, const char *second) {
  char text[256];
  const char *names[64], *near = NULL;
  int count = 0, members = 0;
  size_t bytes = strlen(word),
         used = (size_t)snprintf(text, sizeof text, "%.64s needs one of", word);
  for (const ep_command *command = EP_COMMANDS; command->name; command++) {
    if (count < 64) names[count++] = command->name;
    if (strncmp(command->name, word, bytes) != 0 || command->name[bytes] != ' ') continue;
    used += (size_t)snprintf(text + used, sizeof text - used, "%s %s", members++ ? "," : "",
                             command->name + bytes + 1);
  }
  if (members && second && *second != '-')
    snprintf(text + used, sizeof text - used, ", not \"%.64s\"", second);
  if (!members) {
    near = ep_nearest_name(word, names, count);
    snprintf(text, sizeof text, "there is no command \"%.64s\"%s%s%s", word,
             near ? ": did you mean \"" : "", near ? near : "", near ? "\"?" : "");
  }
  return usage(NULL, text);
}

static ep_exit dispatch(int argc, char **argv, ep_session *session) {
  static ep_arguments arguments;
  ep_error error = {0};
  int at = 1, words = 0;
  if (ep_arguments_read(&arguments, argc, argv, 1, EP_GLOBAL_OPTIONS, NULL, &at, &error))
    return usage(NULL, error.message);
  const ep_command *command = ep_command_find(argc, argv, at, &words);
  if (!command && ep_arguments_has(&arguments, "version")) {
    puts("epochctl " EP_VERSION);
    return EP_EXIT_GOOD;
  }
  if (!command && (at == argc || ep_arguments_has(&arguments, "help"))) {
    bool wanted = ep_arguments_has(&arguments, "help");
    ep_page_overview(wanted ? stdout : stderr);
    return wanted ? EP_EXIT_GOOD : EP_EXIT_USAGE;
  }
  if (!command) return unknown(argv[at], at + 1 < argc ? argv[at + 1] : NULL);
  if (ep_arguments_read(&arguments, argc, argv, at + words, command->options, EP_GLOBAL_OPTIONS,
                        NULL, &error))
    return usage(command, error.message);
  if (ep_arguments_has(&arguments, "help")) {
    ep_page_command(stdout, command);
    return EP_EXIT_GOOD;
  }
  if (arguments.words_count < command->least) {
    char text[128];
    snprintf(text, sizeof text, "%s needs %s", command->name, command->words);
    return usage(command, text);
  }
  if (command->most >= 0 && arguments.words_count > command->most)
    return usage(command, "that is one word too many");
  return run(session, command, &arguments);
}

int main(int argc, char **argv) {
  static ep_session session; /* some 20 KiB */
  if (curl_global_init(CURL_GLOBAL_DEFAULT) != 0) {
    fprintf(stderr, "epochctl: libcurl does not start\n");
    return EP_EXIT_TROUBLE;
  }
  ep_exit outcome = dispatch(argc, argv, &session);
  ep_session_close(&session);
  curl_global_cleanup();
  return outcome;
}
