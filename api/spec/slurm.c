/* slurm.c: the fields of "slurm": what a job's worker asks Slurm for. */
#include "api/spec/slurm.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "api/spec/tables.h"

bool ep_slurm_device_accepts(const char *text) {
  const size_t prefix = strlen(EP_SLURM_PREFIX);
  if (strncmp(text, EP_SLURM_PREFIX, prefix) != 0 || !isalnum((unsigned char)text[prefix]))
    return false;
  for (const char *at = text + prefix; *at; at++)
    if (!isalnum((unsigned char)*at) && !strchr("._-", *at)) return false;
  return strlen(text) < EP_DEVICE_ID_BYTES;
}

bool ep_kubernetes_device_accepts(const char *text) {
  const size_t prefix = strlen(EP_KUBERNETES_PREFIX), length = strlen(text);
  if (strncmp(text, EP_KUBERNETES_PREFIX, prefix) != 0 || length >= EP_DEVICE_ID_BYTES ||
      length == prefix || text[prefix] == '-' || text[length - 1] == '-')
    return false;
  for (const char *at = text + prefix; *at; at++)
    if (!islower((unsigned char)*at) && !isdigit((unsigned char)*at) && *at != '-') return false;
  return true;
}

/* A number of at most 9 digits. */
static const char *part_parse(const char *at, int64_t *number) {
  const char *begin = at;
  for (*number = 0; isdigit((unsigned char)*at) && at - begin < 9; at++)
    *number = *number * 10 + (*at - '0');
  return at == begin ? NULL : at;
}

bool ep_slurm_minutes_parse(const char *text, int64_t *minutes) {
  int64_t part[4] = {0}, days = 0;
  int count = 0;
  if (strcasecmp(text, "UNLIMITED") == 0 || strcasecmp(text, "INFINITE") == 0 ||
      strcasecmp(text, "NONE") == 0) {
    *minutes = 0;
    return true;
  }
  const char *at = part_parse(text, &days);
  const bool has_days = at && *at == '-';
  if (has_days)
    at++;
  else
    at = text;
  do {
    at = part_parse(at, &part[count++]);
    if (!at) return false;
  } while (*at == ':' && at++ && count < 3);
  if (*at) return false;
  /* Without days: minutes, minutes:seconds, hours:minutes:seconds. With: hours first. */
  const bool hours_first = has_days || count == 3;
  const int64_t hours = hours_first ? part[0] : 0;
  const int64_t rest_minutes = hours_first ? part[1] : part[0];
  const int64_t seconds = hours_first ? part[2] : part[1];
  *minutes = ((has_days ? days : 0) * 24 + hours) * 60 + rest_minutes + (seconds + 59) / 60;
  return true;
}

static bool time_accepts(const char *text) {
  int64_t minutes;
  return ep_slurm_minutes_parse(text, &minutes) && minutes > 0;
}

/* Names, and the operators of constraints: "a100&nvlink", "[rack1|rack2]", "gpu:a100:2". */
static bool word_accepts(const char *text) {
  if (!isalnum((unsigned char)text[0]) && text[0] != '[' && text[0] != '(') return false;
  for (const char *at = text; *at; at++)
    if (!isalnum((unsigned char)*at) && !strchr("._-:,=&|*[]()@+", *at)) return false;
  return true;
}

#define AT(member) offsetof(ep_job_spec, slurm.member)
#define WORD(member, text)                                         \
  .kind = EP_FIELD_STRING, .offset = AT(member), .nullable = true, \
  .capacity = EP_SLURM_WORD_BYTES, .accepts = word_accepts, .form = "a Slurm name", .doc = text

static const ep_field rows[] = {
    {.key = "time",
     .kind = EP_FIELD_STRING,
     .offset = AT(time),
     .nullable = true,
     .capacity = EP_SLURM_WORD_BYTES,
     .accepts = time_accepts,
     .form = "a Slurm time like \"2:00:00\" or \"1-12\"",
     .doc = "that its worker may run; by the estimate, within the partition's limit, unless given"},
    {.key = "account", WORD(account, "that is charged; --slurm-account unless given")},
    {.key = "qos", WORD(qos, "quality of service; --slurm-qos unless given")},
    {.key = "gres",
     WORD(gres, "generic resources, \"gpu:a100:2\"; a GPU where all nodes have any, unless given")},
    {.key = "constraint", WORD(constraint, "features that the node must have")},
    {.key = "nodes",
     .kind = EP_FIELD_INT64,
     .offset = AT(nodes),
     .min = 0,
     .max = EP_LIMIT_RANKS,
     .doc = "that the ranks of \"parallel\" are spread over; 0: one, or as many as have a core for "
            "each rank"},
};
#undef AT
#undef WORD
const ep_field_table ep_slurm_table = EP_FIELD_TABLE(rows, NULL);

bool ep_slurm_given(const void *spec) {
  const ep_slurm_spec *slurm = &((const ep_job_spec *)spec)->slurm;
  return slurm->time[0] || slurm->account[0] || slurm->qos[0] || slurm->gres[0] ||
         slurm->constraint[0] || slurm->nodes > 0;
}
