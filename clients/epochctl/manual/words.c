#include "clients/epochctl/manual/words.h"

#include <stdio.h>

const char EP_MANUAL_PURPOSE[] =
    "epochctl speaks with epochd, a daemon that trains neural networks: it submits jobs, shows how "
    "they learn, and fetches what was learnt.";

const char EP_MANUAL_JOBS[] =
    "JOB is a whole id, the start or the end of one (job_ may be left out) that only one job has, "
    "or last: the newest.";

const ep_manual_row EP_MANUAL_ENVIRONMENT[] = {
    {"EPOCHD_SERVER, EPOCHD", "where epochd is, when --server does not say"},
    {"EPOCHD_TOKEN", "the token, when --token-file does not say"},
    {"NO_COLOR", "if set, no colours; there are none in a pipe"},
    {"COLUMNS",
     "the width of tables and plots in a pipe, where tables are else as wide as they like"},
    {"LC_ALL, LC_CTYPE, LANG", "whether characters beyond ASCII are drawn: when they say UTF-8"},
    {NULL, NULL},
};

const ep_manual_row EP_MANUAL_EXIT_STATUSES[] = {
    {"0", "done; of run and watch: the job succeeded"},
    {"1", "the job failed or was cancelled"},
    {"2", "wrong usage, or the server refused: no such job, a spec with faults, the wrong state"},
    {"3", "no answer, no permission, too busy, or a failure on either side"},
    {"130", "Ctrl-C while watching; the job goes on"},
    {NULL, NULL},
};

void ep_manual_title(const ep_subcommand *subcommand, char title[EP_MANUAL_TITLE_BYTES]) {
  snprintf(title, EP_MANUAL_TITLE_BYTES, "%s%s%s", subcommand->name, *subcommand->words ? " " : "",
           subcommand->words);
}
