/* store.h: jobs and names of datasets, in SQLite (WAL, synchronous=FULL). A function that changes
 * something returns when it is on disk. Published models: models.h.
 *
 * Thread-safe: a connection that writes and some that read, each behind a mutex of its own, so that
 * a commit that waits for the disk holds up no reader. What was written is read: a function that
 * reads sees all that has returned before. Progress is in the jobs' logs, not here. An I/O
 * error of SQLite fails the operation with EP_IO (EP_UNAVAILABLE: the disk is full) and is logged;
 * EP_UNKNOWN: the disk failed at the commit, which a crash may still bring back.
 */
#ifndef EP_SERVER_STORE_STORE_H
#define EP_SERVER_STORE_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api/limits.h"
#include "api/names.h"
#include "api/spec/labels.h"
#include "api/status.h"
#include "api/vocabulary.h"
#include "server/process/id.h"
#include "server/store/page.h"

typedef struct ep_store ep_store;

enum { EP_STORE_HASH_BYTES = 32 };

/* What an unfinished job is to do, told while it is queued or running. */
typedef enum { EP_INTENT_NONE, EP_INTENT_PAUSE, EP_INTENT_CANCEL, EP_INTENT_RESUME } ep_intent;

/* A row of `jobs`. A row that was read owns its texts (ep_job_row_deinit); to a row that is written
 * they are lent. */
typedef struct {
  char id[EP_ID_BYTES];
  char *name; /* "" for none */
  ep_state state;
  int priority;
  char *spec;                                 /* JSON text, all defaults filled in */
  char dataset[EP_SHA256_HEX_BYTES];          /* SHA-256 of the content it reads, "" for none */
  char dataset_name[EP_LIMIT_NAME_BYTES + 1]; /* as its spec has it, "" for none */
  char requested_device[EP_DEVICE_ID_BYTES];  /* of the spec: "auto", "cpu", "cuda:0" */
  char device[EP_DEVICE_ID_BYTES];            /* of the last start, "" before the first */
  char executor[EP_EXECUTOR_BYTES];           /* likewise */
  double seconds_cpu, seconds_cuda;           /* the plan's estimates, by which `auto` chooses */
  double max_seconds;                         /* of training, by its spec; 0 = no limit */
  bool pinned;                                /* retention leaves it */
  int64_t ttl_seconds;                        /* after its end; 0 = none */
  int cores;                                  /* of the CPU that it can use; 0 = not known */
  char *tags;  /* JSON text: an array of strings; NULL is written as none */
  int attempt; /* of the last start; 0 before the first */
  int64_t epochs, parameters, bytes;
  ep_intent intent; /* what a client has told the job to do; only ep_store_job_intend writes it */
  char *automatic;  /* JSON text: what "auto" chose; NULL: the job left nothing open */
  char *remarks;    /* what its submission was warned of; NULL or "": nothing */
  char *result;     /* JSON text, NULL until it ended, and for one that never ran */
  int64_t created_us, started_us, finished_us; /* 0 = not yet */
  uint64_t version;
  char owner[EP_OWNER_BYTES]; /* "" = nobody's */
  bool private;               /* visible only to its owner and admins */
  bool damaged; /* it is not what was written: shown as failed, with the reason; not to be used */
} ep_job_row;

void ep_job_row_deinit(ep_job_row *row);

ep_status ep_store_open(const char *path, ep_store **out, ep_error *error);
void ep_store_close(ep_store *store); /* NULL is allowed */

/* Inserts a job. key_hash and body_hash: [EP_STORE_HASH_BYTES], both NULL without an idempotency
 * key. EP_CONFLICT: that key is there. */
ep_status ep_store_job_insert(ep_store *store, const ep_job_row *row, const uint8_t *key_hash,
                              const uint8_t *body_hash, ep_error *error);

/* The job that was submitted with this key; body_hash: [EP_STORE_HASH_BYTES], written.
 * EP_NOT_FOUND. */
ep_status ep_store_job_by_key(ep_store *store, const uint8_t *key_hash, char id[EP_ID_BYTES],
                              uint8_t *body_hash, ep_error *error);

/* Writes state, device, executor, attempt, result, started_us, finished_us and version. */
ep_status ep_store_job_update(ep_store *store, const ep_job_row *row, ep_error *error);
/* The same without a sync: a crash of the machine may take it, unless something was stored after
 * it. */
ep_status ep_store_job_note(ep_store *store, const ep_job_row *row, ep_error *error);

/* Writes the intent of a job that has not ended; that it is to be cancelled stays. */
ep_status ep_store_job_intend(ep_store *store, const char *id, ep_intent intent, ep_error *error);

ep_status ep_store_job_get(ep_store *store, const char *id, ep_job_row *out, ep_error *error);
ep_status ep_store_job_delete(ep_store *store, const char *id, ep_error *error);
/* The same unless the job is pinned: EP_CONFLICT. */
ep_status ep_store_job_expire(ep_store *store, const char *id, ep_error *error);
bool ep_store_job_exists(ep_store *store, const char *id);

/* By what a word may mean a job or a sweep. */
typedef enum { EP_ID_BY_NAME, EP_ID_BY_OWN_NAME, EP_ID_BY_START, EP_ID_BY_END } ep_id_match;
enum { EP_ID_END_BYTES = 6 }; /* the least of an end */

/* Ids that begin with `prefix` and match, of what the viewer sees, newest first. ids: [limit], of
 * which *count are written. word: of EP_ID_BY_START the start with its prefix. */
ep_status ep_store_ids_find(ep_store *store, ep_id_match match, const ep_viewer *viewer,
                            const char *prefix, const char *word, char (*ids)[EP_ID_BYTES],
                            int limit, int *count, ep_error *error);
/* The name among those of the newest EP_LIMIT_LIST_JOBS that is nearest to the word; "": none is
 * near. */
ep_status ep_store_name_nearest(ep_store *store, const ep_viewer *viewer, const char *prefix,
                                const char *word, char nearest[EP_LIMIT_NAME_BYTES + 1],
                                ep_error *error);

/* The labels after a PATCH; name is owned by the caller (free). */
typedef struct {
  char *name;
  int priority;
  bool private;
  int64_t labels_version; /* counts the changes of this job's labels */
} ep_store_labels;

/* Writes the labels that are given into the row and its spec. EP_CONFLICT: the priority of a job
 * that has ended. */
ep_status ep_store_job_label(ep_store *store, const char *id, const ep_labels *labels,
                             uint64_t version, ep_store_labels *out, ep_error *error);

/* Gives an ended job to another owner, who alone sees it, unpinned. Its messages go, and its
 * Idempotency-Key is free again. */
ep_status ep_store_job_give(ep_store *store, const char *id, const char *owner, uint64_t version,
                            ep_error *error);

/* Rows read at once. */
typedef struct {
  ep_job_row *rows; /* [count], owned with their texts */
  int64_t count, capacity;
  int64_t bytes; /* of the texts */
  bool cut;      /* at EP_LIMIT_LIST_BYTES: there may be more */
} ep_job_rows;

void ep_job_rows_deinit(ep_job_rows *rows);

/* One page. With page->summary the rows' specs are "". */
ep_status ep_store_jobs_list(ep_store *store, const ep_job_page *page, ep_job_rows *out,
                             ep_error *error);

typedef struct {
  char id[EP_ID_BYTES];
  uint64_t version;
} ep_job_version;

/* Ids and versions of the same jobs, many times faster. versions: [page->limit], of which *count
 * are written. */
ep_status ep_store_jobs_versions(ep_store *store, const ep_job_page *page, ep_job_version *versions,
                                 int64_t *count, ep_error *error);
/* Jobs that have not ended, oldest first, from the one after this id on. */
ep_status ep_store_jobs_unfinished(ep_store *store, const char *after, ep_job_rows *out,
                                   ep_error *error);
/* The jobs that ended last, without their specs. */
ep_status ep_store_jobs_finished_last(ep_store *store, int64_t limit, ep_job_rows *out,
                                      ep_error *error);

/* A job that retention may delete: it has ended, is not pinned, and no model is made of it. */
typedef struct {
  char id[EP_ID_BYTES];
  int64_t due_us;     /* its end, or the end of its ttl_seconds */
  int64_t disk_bytes; /* of its files; -1 = not measured */
} ep_retained_job;

/* Those due by `until_us` after *after, first the oldest; ttl: those with ttl_seconds, by its end,
 * otherwise all by their end. jobs: [limit], of which *count are written. */
ep_status ep_store_retained_list(ep_store *store, bool ttl, int64_t until_us,
                                 const ep_retained_job *after, ep_retained_job *jobs, int limit,
                                 int *count, ep_error *error);
/* Ended jobs whose files were not measured. */
ep_status ep_store_unmeasured_list(ep_store *store, ep_retained_job *jobs, int limit, int *count,
                                   ep_error *error);
/* Not synced. disk_bytes -1: to be measured again. */
ep_status ep_store_measure(ep_store *store, const char *id, int64_t disk_bytes, ep_error *error);
/* Bytes of all that retention may delete, those of models too. */
ep_status ep_store_retained_bytes(ep_store *store, int64_t *bytes, ep_error *error);

/* Counts of rows. */
typedef struct {
  int64_t jobs[EP_STATE_COUNT]; /* by state */
  int64_t datasets;             /* names */
  int64_t deliveries;           /* messages of webhooks that wait */
} ep_store_counts;
/* What SQLite has allocated, of all stores of the process. */
int64_t ep_store_memory_bytes(void);
/* Frees the pages that its connections have read. Those in use now keep theirs. */
void ep_store_memory_release(ep_store *store);

ep_status ep_store_count(ep_store *store, ep_store_counts *out, ep_error *error);

typedef struct {
  char name[EP_LIMIT_NAME_BYTES + 1];
  char sha256[EP_SHA256_HEX_BYTES];
  int64_t created_us;
  char owner[EP_OWNER_BYTES]; /* "" = nobody's */
  int64_t bytes;              /* of its files */
  bool private;
} ep_dataset_row;

/* Things with an owner. The last is of a path alone: a name there is first a model's. */
typedef enum {
  EP_OWNED_NONE,
  EP_OWNED_JOB,
  EP_OWNED_DATASET,
  EP_OWNED_MODEL,
  EP_OWNED_MODEL_OR_JOB
} ep_owned;

typedef struct {
  char owner[EP_OWNER_BYTES]; /* "" = nobody's */
  bool private;
} ep_ownership;

/* Whose it is, and who sees it. EP_NOT_FOUND. */
ep_status ep_store_owner(ep_store *store, ep_owned kind, const char *name, ep_ownership *out,
                         ep_error *error);
/* Fails with EP_NOT_FOUND, and the same words for what is not there and what is hidden. */
ep_status ep_owned_missing(ep_owned kind, const char *name, ep_error *error);
bool ep_viewer_sees(const ep_viewer *viewer, const char *owner, bool private);
/* Bytes of an owner's datasets but that of one name. */
ep_status ep_store_owner_bytes(ep_store *store, const char *owner, const char *but, int64_t *bytes,
                               ep_error *error);

/* Adds to the device-seconds that an owner has used on a day (counted from 1970), which is never
 * before that of an earlier call: the store has one day of each owner. Not synced. */
ep_status ep_store_usage_add(ep_store *store, const char *owner, int64_t day, double seconds,
                             ep_error *error);
ep_status ep_store_usage_get(ep_store *store, const char *owner, int64_t day, double *seconds,
                             ep_error *error);

/* Names a content; *before is the row as it was (name "" = there was none), whose owner stays. */
ep_status ep_store_dataset_put(ep_store *store, const ep_dataset_row *row, ep_dataset_row *before,
                               ep_error *error);
ep_status ep_store_dataset_get(ep_store *store, const char *name, ep_dataset_row *out,
                               ep_error *error);
/* Who sees it. */
ep_status ep_store_dataset_visibility(ep_store *store, const char *name, bool private,
                                      ep_error *error);
ep_status ep_store_dataset_delete(ep_store *store, const char *name, ep_error *error);
/* Whether the row of a name is damaged: it may mean any content. */
ep_status ep_store_datasets_damaged(ep_store *store, bool *damaged, ep_error *error);
/* How many jobs that the viewer sees (NULL: of all) read the content. */
ep_status ep_store_dataset_jobs(ep_store *store, const char *sha256, const ep_viewer *viewer,
                                int64_t *count, ep_error *error);
/* How many names the content has. */
ep_status ep_store_dataset_names(ep_store *store, const char *sha256, int64_t *count,
                                 ep_error *error);
/* Rows that the viewer sees (NULL: all), by name; *rows is the caller's (free). */
ep_status ep_store_dataset_list(ep_store *store, const ep_viewer *viewer, ep_dataset_row **rows,
                                int64_t *count, ep_error *error);

#endif
