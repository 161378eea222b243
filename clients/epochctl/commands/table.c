#include "clients/epochctl/commands/table.h"

/* clang-format off */
static const ep_option OPTIONS[] = {
  {.name = "server", .letter = 's', .kind = EP_OPTION_TEXT, .value = "URL",
   .doc = "the URL of epochd; else EPOCHD_SERVER, EPOCHD, http://127.0.0.1:8080"},
  {.name = "token-file", .kind = EP_OPTION_FILE, .value = "FILE",
   .doc = "a file whose first line is the token; else EPOCHD_TOKEN"},
  {.name = "ca-file", .kind = EP_OPTION_FILE, .value = "FILE",
   .doc = "certificates, PEM, that an https server's is signed by; else EPOCHD_CA, the system's"},
  {.name = "certificate", .kind = EP_OPTION_FILE, .value = "FILE",
   .doc = "for a server with --tls-client-ca: the client's certificate, PEM; else EPOCHD_CERTIFICATE"},
  {.name = "key", .kind = EP_OPTION_FILE, .value = "FILE",
   .doc = "the key of --certificate, PEM; else EPOCHD_KEY"},
  {.name = "timeout", .kind = EP_OPTION_INTEGER, .value = "SECONDS", .min = 1, .max = 86400,
   .doc = "of one response; streams and transfers have none (120)"},
  {.name = "json", .letter = 'j', .kind = EP_OPTION_SWITCH,
   .doc = "print responses as received"},
  {.name = "help", .letter = 'h', .kind = EP_OPTION_SWITCH, .doc = "print the help of the command"},
  {.name = "version", .letter = 'V', .kind = EP_OPTION_SWITCH, .doc = "print the version"},
  {.name = NULL}};
/* clang-format on */

static const ep_subcommand *const ROWS[] = {
#define ROW(name) &ep_subcommand_##name,
    EP_SUBCOMMAND_TABLE(ROW)
#undef ROW
        NULL};

const ep_subcommand_table EP_SUBCOMMANDS = {.rows = ROWS, .options = OPTIONS};
