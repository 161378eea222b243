#include "clients/epochctl/manual/words.h"

#include <stdio.h>

const char EP_MANUAL_PURPOSE[] = "epochctl is the command line client of epochd, a daemon that "
                                 "trains neural networks: it submits "
                                 "jobs and sweeps, shows their progress, and downloads weights.";

const char EP_MANUAL_JOBS[] =
    "JOB is a name (the newest job with that name), an id, its first characters (four or more "
    "after job_) or its last (six or more), or last, the newest of all. predict prefers a "
    "published model of that name; job:NAME and model:NAME choose explicitly. SWEEP works the same "
    "way for a sweep; where both are accepted, it starts with swp_ or sweep:.";

const ep_manual_row EP_MANUAL_ENVIRONMENT[] = {
    {"EPOCHD_SERVER, EPOCHD", "the URL of epochd, without --server"},
    {"EPOCHD_TOKEN", "the token, without --token-file"},
    {"EPOCHD_CA, EPOCHD_CERTIFICATE, EPOCHD_KEY", "without --ca-file, --certificate, --key"},
    {"NO_COLOR", "if set, no colours; never used in a pipe"},
    {"COLUMNS", "the width of plots in a pipe, where tables are never narrowed"},
    {"LC_ALL, LC_CTYPE, LANG", "characters beyond ASCII are drawn if the locale is UTF-8"},
    {NULL, NULL},
};

const ep_manual_row EP_MANUAL_EXIT_STATUSES[] = {
    {"0", "success; for run, sweep and watch: the job or sweep succeeded"},
    {"1", "the job or sweep failed or was cancelled"},
    {"2", "wrong usage, or an invalid request: job not found, invalid spec, wrong state"},
    {"3", "no response, no permission, too busy, or an internal failure"},
    {"130", "Ctrl-C while watching; the job or sweep continues"},
    {NULL, NULL},
};

void ep_manual_title(const ep_subcommand *subcommand, char title[EP_MANUAL_TITLE_BYTES]) {
  snprintf(title, EP_MANUAL_TITLE_BYTES, "%s%s%s", subcommand->name, *subcommand->words ? " " : "",
           subcommand->words);
}
