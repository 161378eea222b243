#include "clients/epochctl/commands.h"

#include <string.h>

#define END \
  { NULL, 0, NULL, EP_WORD_TEXT, NULL }

const ep_option EP_GLOBAL_OPTIONS[] = {
    {"server", 's', "URL", EP_WORD_TEXT,
     "where epochd is; else EPOCHD_SERVER, EPOCHD, http://127.0.0.1:8080"},
    {"token-file", 0, "FILE", EP_WORD_FILE,
     "a file whose first line is the token; else EPOCHD_TOKEN"},
    {"timeout", 0, "SECONDS", EP_WORD_TEXT, "of one answer; streams and transfers have none (120)"},
    {"json", 'j', NULL, EP_WORD_TEXT, "print what the server answers, unchanged"},
    {"help", 'h', NULL, EP_WORD_TEXT, "say what the command does"},
    {"version", 'V', NULL, EP_WORD_TEXT, "print the version"},
    END};

static const ep_option RUN[] = {
    {"set", 0, "/POINTER=VALUE", EP_WORD_TEXT,
     "change a field first: --set /optimizer/lr=0.1; may be given again"},
    {"name", 'n', "NAME", EP_WORD_TEXT, "the job's name"},
    {"tag", 't', "TAG", EP_WORD_TEXT, "add a tag; may be given again"},
    {"detach", 'd', NULL, EP_WORD_TEXT, "print the job's id and leave"},
    END};
static const ep_option VALIDATE[] = {
    {"set", 0, "/POINTER=VALUE", EP_WORD_TEXT, "change a field first; may be given again"}, END};
static const ep_option LS[] = {
    {"state", 0, "queued|running|succeeded|failed|cancelled", EP_WORD_CHOICE, "only these"},
    {"tag", 't', "TAG", EP_WORD_TEXT,
     "only jobs with this tag; may be given again: with all of them"},
    {"limit", 'l', "N", EP_WORD_TEXT, "at most so many, the newest (20)"},
    {"quiet", 'q', NULL, EP_WORD_TEXT, "ids alone"},
    END};
static const ep_option SET[] = {
    {"name", 'n', "NAME", EP_WORD_TEXT, "another name; \"\" for none"},
    {"tag", 't', "TAG", EP_WORD_TEXT,
     "these tags instead; may be given again; \"\" alone for none"},
    {"priority", 'p', "N", EP_WORD_TEXT, "of a job that waits: higher goes first"},
    END};
static const ep_option PLOT[] = {
    {"log", 0, NULL, EP_WORD_TEXT, "a logarithmic axis"},
    {"error", 0, NULL, EP_WORD_TEXT, "a classifier's error rate instead of the loss"},
    {"by", 0, "epochs|seconds", EP_WORD_CHOICE, "what runs along the bottom (epochs)"},
    {"width", 'w', "COLUMNS", EP_WORD_TEXT, "of the whole (the terminal's; 80 in a pipe)"},
    {"height", 0, "LINES", EP_WORD_TEXT, "of the whole (20)"},
    {"ascii", 0, NULL, EP_WORD_TEXT, "no braille"},
    END};
static const ep_option COMPARE[] = {
    {"csv", 0, NULL, EP_WORD_TEXT, "one row a job, as the server writes it"}, END};
static const ep_option WEIGHTS[] = {
    {"output", 'o', "FILE", EP_WORD_FILE, "where to; - is standard output (JOB.FORMAT)"},
    {"format", 'f', "safetensors|npz|json|onnx", EP_WORD_CHOICE, "(safetensors)"},
    END};
static const ep_option PREDICT[] = {{"csv", 0, NULL, EP_WORD_TEXT, "answer as CSV"}, END};
static const ep_option DATA_PUT[] = {
    {"header", 0, "true|false", EP_WORD_CHOICE, "whether a CSV's first line has names (looked at)"},
    {"delimiter", 0, "comma|semicolon|tab|pipe", EP_WORD_CHOICE, "of a CSV (looked at)"},
    END};
static const ep_option QUIET[] = {{"quiet", 'q', NULL, EP_WORD_TEXT, "names alone"}, END};
static const ep_option EXAMPLE[] = {
    {"list", 0, NULL, EP_WORD_TEXT, "what there is, and which data it needs"},
    {"quiet", 'q', NULL, EP_WORD_TEXT, "with --list: names alone"},
    END};
static const ep_option HELP[] = {{"man", 0, NULL, EP_WORD_TEXT, "the manual page's source"},
                                 {"markdown", 0, NULL, EP_WORD_TEXT, "the reference as Markdown"},
                                 END};
static const ep_option NONE[] = {END};

#define COMMAND(name, words, kind, least, most, options, run, summary, details, examples) \
  { name, words, kind, NULL, least, most, options, run, summary, details, examples }

/* clang-format off */
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
