/* epochctl: reads the command line, runs the subcommand of the table, and prints what failed. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <curl/curl.h>

#include "api/json/nearest.h"
#include "clients/epochctl/client/client.h"
#include "clients/epochctl/client/dialect.h"
#include "clients/epochctl/commands/table.h"
#include "clients/epochctl/manual/manual.h"

enum { TIMEOUT_SECONDS = 120, NAMES_MAX = 64 };

/* Prints a line that may have texts of the server. options: of the subcommand, or NULL. */
static void message_print(const char *before, const char *text, const ep_option *options) {
  char safe[EP_MESSAGE_BYTES * 2];
  ep_dialect_words(safe, sizeof safe, text, options);
  fprintf(stderr, "%s%s\n", before, safe);
}

static ep_exit exit_from_status(ep_status status) {
  bool is_request_wrong = ep_status_class(status) == EP_CLASS_CALLER && status != EP_UNAUTHORIZED &&
                          status != EP_FORBIDDEN && status != EP_BUSY;
  return is_request_wrong ? EP_EXIT_USAGE : EP_EXIT_TROUBLE;
}

/* For a single field at fault the detail is the same text as its line. */
static void failure_print(const ep_client *client, const ep_option *options,
                          const ep_error *error) {
  const ep_problem *problem = &client->session.problem;
  fflush(stdout);
  if (client->json && client->session.refusal) {
    fprintf(stderr, "%s\n", client->session.refusal);
    return;
  }
  const char *message = error->message;
  if (problem->errors_count > 0 && strcmp(problem->errors[0].detail, message) == 0)
    message = problem->errors_count == 1 ? "refused" : "several errors";
  message_print("epochctl: ", message, options);
  for (int i = 0; i < problem->errors_count; i++) {
    char line[EP_POINTER_BYTES + EP_MESSAGE_BYTES + 8];
    snprintf(line, sizeof line, "%s%s%s", problem->errors[i].pointer,
             *problem->errors[i].pointer ? ": " : "", problem->errors[i].detail);
    message_print("  ", line, options);
  }
}

/* `subcommand` may be NULL. */
static ep_exit usage_print(const ep_subcommand *subcommand, const char *message) {
  message_print("epochctl: ", message, NULL);
  if (subcommand)
    fprintf(stderr, "usage: epochctl %s%s%s; see epochctl help %s\n", subcommand->name,
            *subcommand->words ? " " : "", subcommand->words, subcommand->name);
  else
    fprintf(stderr, "see epochctl help\n");
  return EP_EXIT_USAGE;
}

static ep_exit subcommand_run(ep_client *client, const ep_subcommand *subcommand,
                              const ep_arguments *arguments) {
  ep_error error = {0};
  client->terminal = ep_terminal_find();
  client->json = ep_arguments_has(arguments, "json");
  client->session.timeout_s = (long)ep_arguments_integer(arguments, "timeout", TIMEOUT_SECONDS);
  const ep_session_options options = {.server = ep_arguments_value(arguments, "server"),
                                      .token_file = ep_arguments_value(arguments, "token-file"),
                                      .ca_file = ep_arguments_value(arguments, "ca-file"),
                                      .certificate = ep_arguments_value(arguments, "certificate"),
                                      .key = ep_arguments_value(arguments, "key")};
  ep_status status = ep_session_open(&client->session, &options, &error);
  if (status == EP_OK) status = subcommand->run(client, arguments, &error);
  if (status != EP_OK) failure_print(client, subcommand->options, &error);
  ep_exit outcome = status == EP_OK ? client->outcome : exit_from_status(status);
  if (fflush(stdout) != 0 || ferror(stdout)) {
    message_print("epochctl: ", "standard output cannot be written", NULL);
    outcome = EP_EXIT_TROUBLE;
  }
  return outcome;
}

/* For a word that names no subcommand: the names that begin with it ("data"), or the nearest. */
static ep_exit unknown_print(const char *word, const char *second) {
  char text[256];
  const char *names[NAMES_MAX], *near;
  int count = 0, members = 0;
  size_t bytes = strlen(word),
         used = (size_t)snprintf(text, sizeof text, "%.64s needs one of", word);
  for (const ep_subcommand *const *row = EP_SUBCOMMANDS.rows; *row; row++) {
    const char *name = (*row)->name;
    if (count < NAMES_MAX) names[count++] = name;
    if (strncmp(name, word, bytes) != 0 || name[bytes] != ' ') continue;
    used += (size_t)snprintf(text + used, sizeof text - used, "%s %s", members++ ? "," : "",
                             name + bytes + 1);
  }
  if (members && second && *second != '-')
    snprintf(text + used, sizeof text - used, ", not \"%.64s\"", second);
  if (!members) {
    near = ep_nearest_name(word, names, count);
    snprintf(text, sizeof text, "unknown command \"%.64s\"%s%s%s", word,
             near ? ": did you mean \"" : "", near ? near : "", near ? "\"?" : "");
  }
  return usage_print(NULL, text);
}

/* Without a subcommand: --version, --help, or the overview. */
static ep_exit nothing_run(const ep_arguments *arguments) {
  bool helps = ep_arguments_has(arguments, "help");
  if (ep_arguments_has(arguments, "version")) {
    puts("epochctl " EP_VERSION);
    return EP_EXIT_GOOD;
  }
  ep_manual_overview(helps ? stdout : stderr, &EP_SUBCOMMANDS);
  return helps ? EP_EXIT_GOOD : EP_EXIT_USAGE;
}

static ep_exit line_run(int argc, char **argv, ep_client *client) {
  static ep_arguments arguments;
  ep_error error = {0};
  int at = 1, words = 0;
  if (ep_arguments_read(&arguments, argc, argv, 1, EP_SUBCOMMANDS.options, NULL, &at, &error) !=
      EP_OK)
    return usage_print(NULL, error.message);
  const ep_subcommand *subcommand =
      ep_subcommand_find(&EP_SUBCOMMANDS, argc, (const char *const *)argv, at, &words);
  if (ep_arguments_has(&arguments, "version") ||
      (!subcommand && (at == argc || ep_arguments_has(&arguments, "help"))))
    return nothing_run(&arguments);
  if (!subcommand) return unknown_print(argv[at], at + 1 < argc ? argv[at + 1] : NULL);
  if (ep_arguments_read(&arguments, argc, argv, at + words, subcommand->options,
                        EP_SUBCOMMANDS.options, NULL, &error) != EP_OK)
    return usage_print(subcommand, error.message);
  if (ep_arguments_has(&arguments, "version")) return nothing_run(&arguments);
  if (ep_arguments_has(&arguments, "help")) {
    ep_manual_subcommand(stdout, subcommand);
    return EP_EXIT_GOOD;
  }
  if (arguments.words_count < subcommand->least) {
    char text[128];
    snprintf(text, sizeof text, "%s needs %s", subcommand->name, subcommand->words);
    return usage_print(subcommand, text);
  }
  if (subcommand->most >= 0 && arguments.words_count > subcommand->most) {
    char text[128];
    snprintf(text, sizeof text, "unexpected argument \"%.64s\"", arguments.words[subcommand->most]);
    return usage_print(subcommand, text);
  }
  return subcommand_run(client, subcommand, &arguments);
}

int main(int argc, char **argv) {
  static ep_client client = {.subcommands = &EP_SUBCOMMANDS}; /* some 20 KiB */
  if (curl_global_init(CURL_GLOBAL_DEFAULT) != 0) {
    fprintf(stderr, "epochctl: libcurl cannot be initialized\n");
    return EP_EXIT_TROUBLE;
  }
  ep_exit outcome = line_run(argc, argv, &client);
  ep_session_close(&client.session);
  curl_global_cleanup();
  return outcome;
}
