#include "clients/epochctl/commands.h"

#include <string.h>

#include "clients/epochctl/plot.h"

enum { PLOT_MOST = 1000 };

/* clang-format off */
const ep_option EP_GLOBAL_OPTIONS[] = {
  {.name = "server", .letter = 's', .kind = EP_OPTION_TEXT, .value = "URL",
   .doc = "where epochd is; else EPOCHD_SERVER, EPOCHD, http://127.0.0.1:8080"},
  {.name = "token-file", .kind = EP_OPTION_FILE, .value = "FILE",
   .doc = "a file whose first line is the token; else EPOCHD_TOKEN"},
  {.name = "timeout", .kind = EP_OPTION_INTEGER, .value = "SECONDS", .min = 1, .max = 86400,
   .doc = "of one answer; streams and transfers have none (120)"},
  {.name = "json", .letter = 'j', .kind = EP_OPTION_SWITCH,
   .doc = "print what the server answers, unchanged"},
  {.name = "help", .letter = 'h', .kind = EP_OPTION_SWITCH, .doc = "say what the command does"},
  {.name = "version", .letter = 'V', .kind = EP_OPTION_SWITCH, .doc = "print the version"},
  {.name = NULL}};

static const ep_option RUN[] = {
  {.name = "set", .kind = EP_OPTION_TEXT, .value = "/POINTER=VALUE",
   .doc = "change a field first: --set /optimizer/lr=0.1; may be given again"},
  {.name = "name", .letter = 'n', .kind = EP_OPTION_TEXT, .value = "NAME", .doc = "the job's name"},
  {.name = "tag", .letter = 't', .kind = EP_OPTION_TEXT, .value = "TAG",
   .doc = "add a tag; may be given again"},
  {.name = "detach", .letter = 'd', .kind = EP_OPTION_SWITCH, .doc = "print the job's id and leave"},
  {.name = NULL}};
static const ep_option VALIDATE[] = {
  {.name = "set", .kind = EP_OPTION_TEXT, .value = "/POINTER=VALUE",
   .doc = "change a field first; may be given again"},
  {.name = NULL}};
static const ep_option LS[] = {
  {.name = "state", .kind = EP_OPTION_CHOICE, .value = "queued|running|succeeded|failed|cancelled",
   .doc = "only these"},
  {.name = "tag", .letter = 't', .kind = EP_OPTION_TEXT, .value = "TAG",
   .doc = "only jobs with this tag; may be given again: with all of them"},
  {.name = "limit", .letter = 'l', .kind = EP_OPTION_INTEGER, .value = "N", .min = 1, .max = EP_LIMIT_LIST_JOBS,
   .doc = "at most so many, the newest (20)"},
  {.name = "quiet", .letter = 'q', .kind = EP_OPTION_SWITCH, .doc = "ids alone"},
  {.name = NULL}};
static const ep_option SET[] = {
  {.name = "name", .letter = 'n', .kind = EP_OPTION_TEXT, .value = "NAME",
   .doc = "another name; \"\" for none"},
  {.name = "tag", .letter = 't', .kind = EP_OPTION_TEXT, .value = "TAG",
   .doc = "these tags instead; may be given again; \"\" alone for none"},
  {.name = "priority", .letter = 'p', .kind = EP_OPTION_INTEGER, .value = "N", .min = INT32_MIN, .max = INT32_MAX,
   .doc = "of a job that waits: higher goes first"},
  {.name = NULL}};
static const ep_option PLOT[] = {
  {.name = "log", .kind = EP_OPTION_SWITCH, .doc = "a logarithmic axis"},
  {.name = "error", .kind = EP_OPTION_SWITCH,
   .doc = "a classifier's error rate instead of the loss"},
  {.name = "by", .kind = EP_OPTION_CHOICE, .value = "epochs|seconds",
   .doc = "what runs along the bottom (epochs)"},
  {.name = "width", .letter = 'w', .kind = EP_OPTION_INTEGER, .value = "COLUMNS", .min = EP_PLOT_LEAST_WIDTH, .max = PLOT_MOST,
   .doc = "of the whole (the terminal's; 80 in a pipe)"},
  {.name = "height", .kind = EP_OPTION_INTEGER, .value = "LINES", .min = EP_PLOT_LEAST_HEIGHT, .max = PLOT_MOST,
   .doc = "of the whole (20)"},
  {.name = "ascii", .kind = EP_OPTION_SWITCH, .doc = "no braille"},
  {.name = NULL}};
static const ep_option COMPARE[] = {
  {.name = "csv", .kind = EP_OPTION_SWITCH, .doc = "one row a job, as the server writes it"},
  {.name = NULL}};
static const ep_option WEIGHTS[] = {
  {.name = "output", .letter = 'o', .kind = EP_OPTION_FILE, .value = "FILE",
   .doc = "where to; - is standard output (JOB.FORMAT)"},
  {.name = "format", .letter = 'f', .kind = EP_OPTION_CHOICE, .value = "safetensors|npz|json|onnx",
   .doc = "(safetensors)"},
  {.name = NULL}};
static const ep_option PREDICT[] = {
  {.name = "csv", .kind = EP_OPTION_SWITCH, .doc = "answer as CSV"},
  {.name = NULL}};
static const ep_option DATA_PUT[] = {
  {.name = "header", .kind = EP_OPTION_CHOICE, .value = "true|false",
   .doc = "whether a CSV's first line has names (looked at)"},
  {.name = "delimiter", .kind = EP_OPTION_CHOICE, .value = "comma|semicolon|tab|pipe",
   .doc = "of a CSV (looked at)"},
  {.name = NULL}};
static const ep_option QUIET[] = {
  {.name = "quiet", .letter = 'q', .kind = EP_OPTION_SWITCH, .doc = "names alone"},
  {.name = NULL}};
static const ep_option EXAMPLE[] = {
  {.name = "list", .kind = EP_OPTION_SWITCH, .doc = "what there is, and which data it needs"},
  {.name = "quiet", .letter = 'q', .kind = EP_OPTION_SWITCH, .doc = "with --list: names alone"},
  {.name = NULL}};
static const ep_option HELP[] = {
  {.name = "man", .kind = EP_OPTION_SWITCH, .doc = "the manual page's source"},
  {.name = "markdown", .kind = EP_OPTION_SWITCH, .doc = "the reference as Markdown"},
  {.name = NULL}};
static const ep_option NONE[] = {{.name = NULL}};

#define COMMAND(name, words, kind, least, most, options, run, summary, details, examples) \
  { name, words, kind, NULL, least, most, options, run, summary, details, examples }

const ep_command EP_COMMANDS[] = {
  COMMAND("run", "FILE", EP_WORD_FILE, 1, 1, RUN, ep_command_run_job,
    "submit a job and follow it to its end",
    "FILE holds the job as JSON; - is standard input. On a terminal one line shows how far it is; in "
    "a pipe a line comes at each tenth, and at least every ten seconds. A stream that is cut is taken "
    "up where it ended. The request carries an Idempotency-Key, so that a job whose answer was lost is "
    "not submitted twice.\n\n"
    "Ctrl-C stops the watching, not the job: its id is printed, and the command ends with 130. With "
    "--json the job comes first, then its events, each on a line as the server sends it.\n\n"
    "A value of --set is JSON, or else a string: 0.1, true, [1,2], relu. A part of the pointer that is "
    "not there is made; - appends to a list.",
    "epochctl run xor.json\n"
    "epochctl example xor | epochctl run - --set /epochs=5000 --set /optimizer/lr=0.1 --name fast"),
  COMMAND("validate", "FILE", EP_WORD_FILE, 1, 1, VALIDATE, ep_command_validate,
    "check a job without running it",
    "Prints each layer's shape and parameters, the rows of each split, and how long each device would "
    "take. Ends with 2 when the job would be refused.",
    "epochctl validate job.json"),
  COMMAND("watch", "JOB", EP_WORD_JOB, 1, 1, NONE, ep_command_watch,
    "follow a job to its end",
    "As run does, from the job's first event on. Ends by the job's outcome.",
    "epochctl watch last"),
  COMMAND("ls", "", EP_WORD_TEXT, 0, 0, LS, ep_command_ls,
    "list jobs, the newest first", NULL,
    "epochctl ls --state failed\n"
    "epochctl rm $(epochctl ls -q --tag trial)"),
  COMMAND("show", "JOB", EP_WORD_JOB, 1, 1, NONE, ep_command_show,
    "say everything about a job",
    "State, times, metrics of each split, a small confusion matrix, and the job as it was submitted "
    "with all defaults filled in.",
    "epochctl show last"),
  COMMAND("plot", "JOB", EP_WORD_JOB, 1, 1, PLOT, ep_command_plot,
    "draw a job's curve in the terminal",
    "The training loss, and the validation loss where there is one, in braille dots, or in letters "
    "where the locale is not UTF-8. With --json the curve as the server thins it.",
    "epochctl plot last --log"),
  COMMAND("compare", "JOB…", EP_WORD_JOB, 1, 32, COMPARE, ep_command_compare,
    "set jobs side by side",
    "Figures, and the settings that differ.",
    "epochctl compare 8zq 9fa --csv >trials.csv"),
  COMMAND("cancel", "JOB…", EP_WORD_JOB, 1, -1, NONE, ep_command_cancel,
    "stop jobs; they keep the weights that they have",
    NULL, "epochctl cancel last"),
  COMMAND("rm", "JOB…", EP_WORD_JOB, 1, -1, NONE, ep_command_rm,
    "delete jobs that have ended, with their files",
    "Every JOB is looked up before the first is deleted.", NULL),
  COMMAND("set", "JOB", EP_WORD_JOB, 1, 1, SET, ep_command_set,
    "change a job's name, tags or priority", NULL,
    "epochctl set last --name best --tag paper --tag figure-3"),
  COMMAND("weights", "JOB", EP_WORD_JOB, 1, 1, WEIGHTS, ep_command_weights,
    "download a job's weights",
    "The file appears under its name once all of it is there; of safetensors the SHA-256 is checked. A "
    "transfer that is cut goes on where it ended.",
    "epochctl weights last --format onnx -o digits.onnx"),
  COMMAND("predict", "JOB FILE", EP_WORD_JOB, 2, 2, PREDICT, ep_command_predict,
    "ask a trained network about new rows",
    "FILE is CSV (a line of names is passed over) or JSON, [[…], …] or {\"x\": [[…], …]}; - is "
    "standard input. Of a classifier's outputs the class is shown beside them.",
    "echo 0,1 | epochctl predict last -"),
  COMMAND("data put", "NAME FILE…", EP_WORD_FILE, 2, 7, DATA_PUT, ep_command_data_put,
    "upload a data set",
    "FILE is one file of all (CSV, NPY, NPZ, IDX, safetensors, JSON; gz of any; - is standard input), "
    "or parts, each SPLIT/PART=FILE: train, validation or test; x or y.",
    "epochctl data put houses houses.csv\n"
    "epochctl data put mnist train/x=train-images-idx3-ubyte.gz train/y=train-labels-idx1-ubyte.gz \\\n"
    "  test/x=t10k-images-idx3-ubyte.gz test/y=t10k-labels-idx1-ubyte.gz"),
  COMMAND("data ls", "", EP_WORD_TEXT, 0, 0, QUIET, ep_command_data_ls,
    "list data sets", NULL, NULL),
  COMMAND("data show", "NAME", EP_WORD_DATASET, 1, 1, NONE, ep_command_data_show,
    "say everything about a data set", "Parts, shapes, columns with their least and greatest values.",
    NULL),
  COMMAND("data rm", "NAME…", EP_WORD_DATASET, 1, -1, NONE, ep_command_data_rm,
    "delete data sets", "Refused while a job needs one.", NULL),
  COMMAND("models publish", "NAME JOB", EP_WORD_JOB, 2, 2, NONE, ep_command_models_publish,
    "publish a job's weights under a name",
    "Clients of the KServe V2 protocol then ask at /v2/models/NAME/infer. A name that is there moves to "
    "the new job.",
    "epochctl models publish digits last"),
  COMMAND("models ls", "", EP_WORD_TEXT, 0, 0, QUIET, ep_command_models_ls,
    "list published models", NULL, NULL),
  COMMAND("models rm", "NAME…", EP_WORD_MODEL, 1, -1, NONE, ep_command_models_rm,
    "take published names back; the jobs stay", NULL, NULL),
  COMMAND("devices", "", EP_WORD_TEXT, 0, 0, NONE, ep_command_devices,
    "list what trains", NULL, NULL),
  COMMAND("queue", "", EP_WORD_TEXT, 0, 0, NONE, ep_command_queue,
    "list what waits", NULL, NULL),
  COMMAND("example", "[NAME]", EP_WORD_EXAMPLE, 0, 1, EXAMPLE, ep_command_example,
    "print a job that is ready to run",
    "Some need a data set first; --list says which. The server is not asked.",
    "epochctl example --list\n"
    "epochctl example disc | epochctl run -"),
  {"completion", "bash|zsh", EP_WORD_CHOICE, "bash|zsh", 1, 1, NONE, ep_command_completion,
    "print completions for a shell",
    "Names of jobs, data sets and models are asked from the server as one types.",
    "source <(epochctl completion bash)"},
  COMMAND("help", "[COMMAND]", EP_WORD_COMMAND, 0, 2, HELP, ep_command_help,
    "say what there is, or what a command does", NULL, NULL),
  {NULL, NULL, EP_WORD_TEXT, NULL, 0, 0, NULL, NULL, NULL, NULL, NULL},
};
/* clang-format on */

const ep_command *ep_command_find(int argc, char *const *argv, int at, int *words) {
  for (const ep_command *command = EP_COMMANDS; command->name; command++) {
    const char *space = strchr(command->name, ' ');
    size_t bytes = space ? (size_t)(space - command->name) : strlen(command->name);
    if (at >= argc || strlen(argv[at]) != bytes || memcmp(argv[at], command->name, bytes) != 0)
      continue;
    if (space && (at + 1 >= argc || strcmp(argv[at + 1], space + 1) != 0)) continue;
    *words = space ? 2 : 1;
    return command;
  }
  return NULL;
}
