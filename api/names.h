/* names.h: what epochd and its workers call things by: lengths of ids, and the files of a job. */
#ifndef EP_API_NAMES_H
#define EP_API_NAMES_H

/* Bytes, the closing 0 included. */
enum {
  EP_ID_BYTES = 40,        /* "job_" or "swp_" and 26 characters, and room */
  EP_DEVICE_ID_BYTES = 64, /* "cpu", "cuda:0", "slurm:PARTITION" */
  EP_EXECUTOR_BYTES = 32,  /* "cpu/fused" */
  EP_SHA256_HEX_BYTES = 65,
  EP_OWNER_BYTES = 65, /* of a job, a dataset, a model; of a token's name */
  EP_CHECKSUM_HEX_BYTES = 17,
  EP_SLURM_WORD_BYTES = 128 /* a partition, an account, a constraint */
};

/* What ids begin with, EP_ID_PREFIX_BYTES each. A sweep is a job of many trainings. */
#define EP_JOB_PREFIX "job_"
#define EP_SWEEP_PREFIX "swp_"
enum { EP_ID_PREFIX_BYTES = 4 };

/* What else stands for a job or a sweep in a path, beside ids and names: the newest, and what says
 * which of several things has the name. */
#define EP_LAST_WORD "last"
#define EP_JOB_WORD "job:"
#define EP_SWEEP_WORD "sweep:"
#define EP_MODEL_WORD "model:"

#define EP_SLURM_PREFIX "slurm:"           /* of a device that is a partition of Slurm */
#define EP_KUBERNETES_PREFIX "kubernetes:" /* of one that is a namespace of Kubernetes */

#define EP_STORE_FILE "epochd.sqlite" /* in DATA */

/* In DATA/jobs/<id>. Uploaded weights have the same name in DATA/datasets/<sha256>. */
#define EP_SPEC_FILE "spec.json"
#define EP_AUTO_FILE "auto.json" /* what "auto" chose, of a job that left something open */
#define EP_EVENTS_FILE "events.ndjson"
#define EP_DAMAGED_EVENTS_FILE "events.damaged" /* what was cut of the log */
#define EP_WEIGHTS_FILE "weights.safetensors"
/* Checkpoints by their step, moments of a time-lapse by their epoch (file_number.h). */
#define EP_CHECKPOINT_PREFIX "checkpoint-"
#define EP_MOMENT_PREFIX "moment-"
#define EP_SAFETENSORS_SUFFIX ".safetensors"
/* A checkpoint of another job from which this one begins: a link to its file. */
#define EP_INIT_FILE "init.safetensors"
#define EP_TRIALS_FILE "trials.bin"     /* the results of a sweep */
#define EP_HANDOVER_FILE "handover.bin" /* reports of an attempt that could not reach epochd */
#define EP_PREDICTIONS_JSON_FILE "predictions.json"
#define EP_PREDICTIONS_CSV_FILE "predictions.csv"

/* X(part, name): the parts of a dataset that is uploaded by parts, and how the published files of
 * MNIST that are one begin, before a byte and "idx": train-images-idx3-ubyte.gz; "" = none. */
#define EP_DATASET_PART_TABLE(X) \
  X("train/x", "train-images")   \
  X("train/y", "train-labels")   \
  X("validation/x", "")          \
  X("validation/y", "")          \
  X("test/x", "t10k-images")     \
  X("test/y", "t10k-labels")

/* Of the sign of a number's unit in UTF-8 ("€"), and of a number as it is written with one ("0 €"),
 * with the zero behind them. */
enum { EP_UNIT_BYTES = 4, EP_UNIT_FORM_BYTES = 8 };

#endif
