#include "clients/epochctl/commands/table.h"

/* clang-format off */
static const ep_option OPTIONS[] = {
  {.name = "server", .letter = 's', .kind = EP_OPTION_TEXT, .value = "URL",
   .doc = "the URL of epochd (EPOCHD_SERVER, EPOCHD, or http://127.0.0.1:8080)"},
  {.name = "token-file", .kind = EP_OPTION_FILE, .value = "FILE",
   .doc = "a file whose first line is the token (EPOCHD_TOKEN)"},
  {.name = "ca-file", .kind = EP_OPTION_FILE, .value = "FILE",
   .doc = "CA certificates, PEM, to verify an https server (EPOCHD_CA, or the system's)"},
  {.name = "certificate", .kind = EP_OPTION_FILE, .value = "FILE",
   .doc = "for a server with --tls-client-ca: the client certificate, PEM (EPOCHD_CERTIFICATE)"},
  {.name = "key", .kind = EP_OPTION_FILE, .value = "FILE",
   .doc = "the key of --certificate, PEM (EPOCHD_KEY)"},
  {.name = "timeout", .kind = EP_OPTION_INTEGER, .value = "SECONDS", .min = 1, .max = 86400,
   .doc = "timeout of one response, not of streams and transfers (120)"},
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

static const ep_subcommand_group GROUPS[] = {
    {&ep_subcommand_train, "train and predict"}, {&ep_subcommand_ls, "jobs"},
    {&ep_subcommand_sweeps_ls, "sweeps"},        {&ep_subcommand_data_put, "data"},
    {&ep_subcommand_models_publish, "models"},   {&ep_subcommand_devices, "the daemon"},
    {&ep_subcommand_completion, "epochctl"},     {NULL, NULL}};

const ep_subcommand_table EP_SUBCOMMANDS = {.rows = ROWS, .groups = GROUPS, .options = OPTIONS};
