#include "server/process/config.h"

#include <arpa/inet.h>
#include <errno.h>
#include <math.h>
#include <sched.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "api/json/scanner.h"
#include "api/limits.h"

typedef enum { TEXT, LIST, INTEGER, SWITCH } option_kind;

typedef struct {
  const char *name; /* as a flag; in JSON with _ for - */
  option_kind kind;
  size_t offset;
  size_t bytes;     /* TEXT, LIST: capacity */
  int64_t min, max; /* INTEGER */
  const char *value_name, *doc;
} option;

#define TEXT_OPTION(name, member, value, doc) \
  { name, TEXT, offsetof(ep_config, member), sizeof(((ep_config *)0)->member), 0, 0, value, doc }
#define LIST_OPTION(name, member, value, doc) \
  { name, LIST, offsetof(ep_config, member), sizeof(((ep_config *)0)->member), 0, 0, value, doc }
#define INTEGER_OPTION(name, member, min, max, doc) \
  { name, INTEGER, offsetof(ep_config, member), 0, min, max, "N", doc }
#define SWITCH_OPTION(name, member, doc) \
  { name, SWITCH, offsetof(ep_config, member), 0, 0, 0, "", doc }

static const option OPTIONS[] = {
    TEXT_OPTION("listen", listen, "HOST:PORT",
                "where to listen; port 0 takes a free one (127.0.0.1:8080)"),
    TEXT_OPTION("allow-host", allow_host, "NAME,…",
                "further names that clients may call this daemon by"),
    TEXT_OPTION("data-dir", data_dir, "DIR",
                "where everything is kept ($XDG_STATE_HOME/epochd or ~/.local/state/epochd)"),
    LIST_OPTION("allow-path", allow_path, "DIR",
                "jobs may read files below this folder; may be given again, or as DIR:DIR"),
    TEXT_OPTION("devices", devices, "LIST", "auto, or a list such as cpu,cuda:0 (auto)"),
    TEXT_OPTION("token-file", token_file, "FILE",
                "tokens, one a line; needed to listen beyond this machine"),
    TEXT_OPTION("config", config, "FILE", "JSON with these names, _ for -; flags win"),
    TEXT_OPTION("log-level", log_level, "LEVEL", "debug, info, warning or error (info)"),
    TEXT_OPTION("log-format", log_format, "FORMAT",
                "json, text, or auto: text on a terminal (auto)"),
    INTEGER_OPTION("max-upload-bytes", max_upload_bytes, 1, INT64_MAX / 2,
                   "largest dataset that is taken"),
    INTEGER_OPTION("data-bytes-max", data_bytes_max, 0, INT64_MAX / 2,
                   "device memory that training rows may take; more are streamed (what is free)"),
    INTEGER_OPTION("max-queued", max_queued, 1, 100000000, "jobs that may wait; more are refused"),
    INTEGER_OPTION("stall-seconds", stall_seconds, 1, 86400,
                   "a worker without progress for so long is restarted"),
    INTEGER_OPTION("cpu-jobs", cpu_jobs, 1, EP_LIMIT_CPU_JOBS,
                   "jobs that train on the CPU at once, each on its cores (one a core)"),
    INTEGER_OPTION("http-threads", http_threads, 1, 64, "threads that answer requests (4)"),
    TEXT_OPTION("worker", worker, "PATH", "the epoch-worker program (beside epochd)"),
    TEXT_OPTION("plugin", plugin, "PATH", "the CUDA plug-in (beside the worker)"),
    SWITCH_OPTION("probe", probe,
                  "ask the daemon that listens there whether it is ready, and end: 0 yes, 1 no"),
    SWITCH_OPTION("version", version, "print the version and end"),
    SWITCH_OPTION("help", help, "print this and end"),
};
enum { OPTIONS_COUNT = sizeof OPTIONS / sizeof OPTIONS[0], CONFIG_FILE_LIMIT_BYTES = 65536 };

static const option *find(const char *name, size_t bytes, bool underscores) {
  for (int i = 0; i < OPTIONS_COUNT; i++) {
    const char *known = OPTIONS[i].name;
    if (strlen(known) != bytes) continue;
    size_t same = 0;
    while (same < bytes &&
           (name[same] == known[same] || (underscores && known[same] == '-' && name[same] == '_')))
      same++;
    if (same == bytes) return &OPTIONS[i];
  }
  return NULL;
}

/* `where` names the place for the message: "--listen" or "listen in FILE". */
static ep_status set(ep_config *config, const option *chosen, const char *where, const char *text,
                     ep_error *error) {
  char *base = (char *)config + chosen->offset;
  if (chosen->kind == TEXT) {
    size_t bytes = strlen(text);
    if (bytes >= chosen->bytes) return ep_fail(error, EP_INVALID, "%s is too long", where);
    memcpy(base, text, bytes + 1);
    return EP_OK;
  }
  if (chosen->kind == LIST) { /* one more */
    size_t used = strlen(base);
    int bytes = snprintf(base + used, chosen->bytes - used, "%s%s", used > 0 ? ":" : "", text);
    if (bytes < 0 || (size_t)bytes >= chosen->bytes - used)
      return ep_fail(error, EP_INVALID, "%s is too long", where);
    return EP_OK;
  }
  char *stop;
  errno = 0;
  long long value = strtoll(text, &stop, 10);
  if (errno || stop == text || *stop || value < chosen->min || value > chosen->max)
    return ep_fail(error, EP_INVALID, "%s must be a whole number from %lld to %lld, not \"%.64s\"",
                   where, (long long)chosen->min, (long long)chosen->max, text);
  *(int64_t *)(void *)base = value;
  return EP_OK;
}

static ep_status read_flags(int argc, char *const *argv, ep_config *config, ep_error *error) {
  for (int i = 1; i < argc; i++) {
    const char *flag = argv[i];
    if (strncmp(flag, "--", 2) != 0)
      return ep_fail(error, EP_INVALID, "\"%.100s\" is no flag; see --help", flag);
    size_t bytes = strcspn(flag + 2, "=");
    const option *chosen = find(flag + 2, bytes, false);
    if (!chosen) return ep_fail(error, EP_INVALID, "there is no flag %.100s; see --help", flag);
    char where[64];
    snprintf(where, sizeof where, "--%s", chosen->name);
    const char *value = flag[2 + bytes] == '=' ? flag + 3 + bytes : NULL;
    if (chosen->kind == SWITCH) {
      if (value) return ep_fail(error, EP_INVALID, "%s takes no value", where);
      *((bool *)config + chosen->offset) = true;
      continue;
    }
    if (!value && i + 1 < argc) value = argv[++i];
    if (!value) return ep_fail(error, EP_INVALID, "%s needs a value", where);
    ep_status status = set(config, chosen, where, value, error);
    if (status) return status;
  }
  return EP_OK;
}

/* One member of the file's object: `key`, the scanner before its value. */
static ep_status read_member(ep_config *config, const char *path, const char *key,
                             ep_scanner *scanner, ep_error *error) {
  const option *chosen = find(key, strlen(key), true);
  if (!chosen || chosen->kind == SWITCH || strcmp(chosen->name, "config") == 0)
    return ep_fail(error, EP_INVALID,
                   "%.300s: there is no setting \"%.64s\"; epochd --help lists them", path, key);
  char where[EP_MESSAGE_BYTES], text[PATH_MAX];
  snprintf(where, sizeof where, "%.300s: \"%s\"", path, chosen->name);
  double number;
  if (chosen->kind == TEXT || chosen->kind == LIST) {
    if (!ep_scan_string(scanner, text, sizeof text) || strchr(text, '\\'))
      return ep_fail(error, EP_INVALID, "%.400s must be a string without backslashes", where);
  } else {
    if (!ep_scan_number(scanner, &number) || !(fabs(number) <= 9007199254740992.0) ||
        number != floor(number))
      return ep_fail(error, EP_INVALID, "%.400s must be a whole number", where);
    snprintf(text, sizeof text, "%.0f", number);
  }
  return set(config, chosen, where, text, error);
}

static ep_status read_object(ep_config *config, const char *path, ep_scanner *scanner,
                             ep_error *error) {
  char key[64];
  ep_status status = EP_OK;
  bool good = ep_scan_token(scanner, '{'), more = good && !ep_scan_token(scanner, '}');
  while (good && more && !status) {
    good = ep_scan_string(scanner, key, sizeof key) && ep_scan_token(scanner, ':');
    if (good) status = read_member(config, path, key, scanner, error);
    more = ep_scan_token(scanner, ',');
    good = good && (status || more || ep_scan_token(scanner, '}'));
  }
  if (!status && (!good || ep_scan_peek(scanner) != 0))
    return ep_fail(error, EP_MALFORMED, "%.400s is not one JSON object", path);
  return status;
}

static ep_status read_file(const char *path, ep_config *config, ep_error *error) {
  char *text = malloc(CONFIG_FILE_LIMIT_BYTES);
  if (!text) return ep_fail(error, EP_NO_MEMORY, "not enough memory to read %.400s", path);
  FILE *file = fopen(path, "re");
  if (!file) {
    free(text);
    return ep_fail(error, EP_IO, "%.400s cannot be read: %s", path, strerror(errno));
  }
  ep_status status = EP_OK;
  size_t bytes = fread(text, 1, CONFIG_FILE_LIMIT_BYTES, file);
  if (ferror(file)) status = ep_fail(error, EP_IO, "%.400s cannot be read", path);
  if (bytes == CONFIG_FILE_LIMIT_BYTES)
    status = ep_fail(error, EP_TOO_LARGE, "%.400s is larger than 64 KiB", path);
  ep_scanner scanner = {text, text + bytes};
  if (!status) status = read_object(config, path, &scanner, error);
  fclose(file);
  free(text);
  return status;
}

/* "127.0.0.1:8080", "[::1]:0", "localhost:80". */
static ep_status split_listen(ep_config *config, ep_error *error) {
  const char *colon = strrchr(config->listen, ':');
  size_t bytes = colon ? (size_t)(colon - config->listen) : 0;
  const char *host = config->listen;
  if (bytes > 2 && host[0] == '[' && host[bytes - 1] == ']') {
    host++;
    bytes -= 2;
  } else if (memchr(host, ':', bytes)) {
    bytes = 0; /* an IPv6 address without its brackets */
  }
  char *stop = NULL;
  long port = colon ? strtol(colon + 1, &stop, 10) : -1;
  if (bytes == 0 || bytes >= sizeof config->host || !stop || stop == colon + 1 || *stop ||
      colon[1] == '-' || colon[1] == '+' || port < 0 || port > 65535)
    return ep_fail(error, EP_INVALID,
                   "--listen must be HOST:PORT such as 127.0.0.1:8080, not "
                   "\"%.100s\"",
                   config->listen);
  memcpy(config->host, host, bytes);
  config->host[bytes] = 0;
  config->port = (int)port;
  struct in_addr four;
  struct in6_addr six;
  if (inet_pton(AF_INET, config->host, &four) == 1)
    config->loopback = (ntohl(four.s_addr) >> 24) == 127;
  else if (inet_pton(AF_INET6, config->host, &six) == 1)
    config->loopback = IN6_IS_ADDR_LOOPBACK(&six);
  else
    config->loopback = strcasecmp(config->host, "localhost") == 0;
  return EP_OK;
}

static ep_status find_words(ep_config *config, ep_error *error) {
  int level = ep_log_level_from_name(config->log_level);
  if (level < 0)
    return ep_fail(error, EP_INVALID, "--log-level must be debug, info, warning or error");
  config->level = (ep_log_level)level;
  if (strcmp(config->log_format, "auto") == 0)
    config->format = EP_LOG_AUTO;
  else if (strcmp(config->log_format, "json") == 0)
    config->format = EP_LOG_JSON;
  else if (strcmp(config->log_format, "text") == 0)
    config->format = EP_LOG_TEXT;
  else
    return ep_fail(error, EP_INVALID, "--log-format must be auto, json or text");
  return EP_OK;
}

/* Where state belongs by the XDG convention; without a home it stays here. */
static void find_data_dir(char path[PATH_MAX]) {
  const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
  int bytes;
  if (state && state[0] == '/')
    bytes = snprintf(path, PATH_MAX, "%s/epochd", state);
  else if (home && home[0] == '/')
    bytes = snprintf(path, PATH_MAX, "%s/.local/state/epochd", home);
  else
    bytes = PATH_MAX;
  if (bytes >= PATH_MAX) snprintf(path, PATH_MAX, "epochd-data");
}

/* A container or taskset may allow fewer processors than there are. */
static int cores_count(void) {
  cpu_set_t allowed;
  int count = sched_getaffinity(0, sizeof allowed, &allowed) == 0 ? CPU_COUNT(&allowed) : 1;
  return count < 1 ? 1 : count > EP_LIMIT_CPU_JOBS ? EP_LIMIT_CPU_JOBS : count;
}

ep_status ep_config_read(int argc, char *const *argv, ep_config *out, ep_error *error) {
  *out = (ep_config){.listen = "127.0.0.1:8080",
                     .devices = "auto",
                     .log_level = "info",
                     .log_format = "auto",
                     .max_upload_bytes = EP_LIMIT_UPLOAD_BYTES,
                     .max_queued = 10000,
                     .stall_seconds = 60,
                     .cpu_jobs = cores_count(),
                     .http_threads = 4};
  ep_config named = *out; /* a first pass over the flags, to learn of --config */
  ep_status status = read_flags(argc, argv, &named, error);
  if (!status && named.config[0]) status = read_file(named.config, out, error);
  if (!status) status = read_flags(argc, argv, out, error);
  if (!status) status = split_listen(out, error);
  if (!status) status = find_words(out, error);
  if (!status && !out->data_dir[0]) find_data_dir(out->data_dir);
  return status;
}

void ep_config_usage(FILE *out) {
  fprintf(out, "epochd %s: trains neural networks for anyone who can send JSON.\n\n", EP_VERSION);
  for (int i = 0; i < OPTIONS_COUNT; i++) {
    char flag[64];
    snprintf(flag, sizeof flag, "--%s %s", OPTIONS[i].name, OPTIONS[i].value_name);
    fprintf(out, "  %-28s %s\n", flag, OPTIONS[i].doc);
  }
}
