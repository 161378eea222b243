#include "clients/epochctl/manual/words.h"

#include <stdio.h>

const char EP_MANUAL_PURPOSE[] = "epochctl is the command line client of epochd, a daemon that "
                                 "trains neural networks: it submits "
                                 "jobs and sweeps, shows their progress, and downloads weights.";

const char EP_MANUAL_JOBS[] =
    "JOB is a whole id, the start or the end of one (job_ may be left out) that only one job has, "
    "or last: the newest. SWEEP is the same of a sweep; where it stands beside JOB, it begins with "
    "swp_.";

const ep_manual_row EP_MANUAL_ENVIRONMENT[] = {
    {"EPOCHD_SERVER, EPOCHD", "the URL of epochd, without --server"},
    {"EPOCHD_TOKEN", "the token, without --token-file"},
    {"EPOCHD_CA, EPOCHD_CERTIFICATE, EPOCHD_KEY", "without --ca-file, --certificate, --key"},
    {"NO_COLOR", "if set, no colours; a pipe has none"},
    {"COLUMNS", "the width of tables and plots in a pipe; without it tables are not narrowed"},
    {"LC_ALL, LC_CTYPE, LANG", "characters beyond ASCII are drawn if the locale is UTF-8"},
    {NULL, NULL},
};

const ep_manual_row EP_MANUAL_EXIT_STATUSES[] = {
    {"0", "done; of run, sweep and watch: the job or sweep succeeded"},
    {"1", "the job or sweep failed or was cancelled"},
    {"2", "wrong usage, or a refused request: no such job, a spec with faults, the wrong state"},
    {"3", "no response, no permission, too busy, or a failure on either side"},
    {"130", "Ctrl-C while watching; the job or sweep goes on"},
    {NULL, NULL},
};

void ep_manual_title(const ep_subcommand *subcommand, char title[EP_MANUAL_TITLE_BYTES]) {
  snprintf(title, EP_MANUAL_TITLE_BYTES, "%s%s%s", subcommand->name, *subcommand->words ? " " : "",
           subcommand->words);
}
