/* job_spec.h: a training job as its user wrote it, as plain structs: each field of the JSON is a
 * member, and its default stands beside it. */
#ifndef EP_API_SPEC_JOB_SPEC_H
#define EP_API_SPEC_JOB_SPEC_H

#include <stdbool.h>
#include <stdint.h>

#include "api/limits.h"
#include "api/names.h"
#include "api/spec/parts.h"
#include "api/vocabulary.h"

typedef enum { EP_DATA_DATASET, EP_DATA_GENERATOR, EP_DATA_INLINE, EP_DATA_PATH } ep_data_source;

/* How "data.target" says which column it is. */
typedef enum {
  EP_TARGET_LAST,  /* not at all: the last column of a table, or the data's own y */
  EP_TARGET_INDEX, /* a JSON number */
  EP_TARGET_NAME,  /* a JSON string */
  EP_TARGET_EITHER /* digits that an earlier version stored: a name, else the index */
} ep_target_by;

/* "data.columns": what is said of one column of a table, or of all whose names match. */
typedef struct {
  char name[EP_LIMIT_NAME_BYTES + 1]; /* a column's, or a glob; a column without a name has its
                                         index for one */
  ep_column_as type;                  /* Default "auto" */
  ep_fill missing;                    /* Default "auto" */
  bool has_value;                     /* "missing": {"value": x}, */
  double value;                       /* x */
  int indicator;      /* a feature that is 1 where the cell is missing: true, false; -1 = not given
                         (null): where the data have missing numbers */
  ep_category encode; /* Default "auto" */
  int64_t buckets;    /* of a category that is hashed: its features. Default 32 */
  int64_t min_count;  /* of a category: training rows of a word that is told apart. Default 1 */
  ep_unknown_word unknown; /* Default "other" */
  ep_column_scale scale;   /* Default "standard" */
} ep_column_rule;

/* Names of columns, and globs. */
typedef struct {
  char (*name)[EP_LIMIT_NAME_BYTES + 1]; /* [count], owned; NULL = not given */
  int count;
} ep_column_names;

/* "data.window": a table is a series, and an example is so many successive rows of it. */
typedef struct {
  int64_t length;                      /* rows of an example; 0 = not given (null) */
  int64_t horizon;                     /* the target is that of the row so many rows after the last
                                          one. Default 1 */
  int64_t stride;                      /* rows from the first one of an example to that of the next.
                                          Default 1 */
  char group[EP_LIMIT_NAME_BYTES + 1]; /* rows of one word of this column are a series; "" = not
                                          given: all rows are one */
  ep_window_gaps gaps; /* of a series with a time: windows over gaps are left out. Default "cut" */
} ep_window_spec;

/* Where rows come from, and how they are split and scaled before training. */
typedef struct {
  ep_data_source source;                 /* which one of dataset, generator, inline was given */
  char dataset[EP_LIMIT_NAME_BYTES + 1]; /* source dataset: its name */
  char sha256[EP_SHA256_HEX_BYTES];      /* the content that the name meant at submission; filled by
                                            epochd */
  ep_generator generator;                /* source generator */
  int64_t rows;            /* disc: training rows, and as many test rows. Default 1000 */
  uint64_t generator_seed; /* "seed" in JSON. Default 1 */
  double *inline_x;        /* source inline: [inline_rows, inline_columns], row-major, owned */
  double *inline_y;        /* [inline_rows, inline_targets], owned */
  int64_t inline_rows, inline_columns, inline_targets;
  ep_target_by target_by; /* Default EP_TARGET_LAST */
  int64_t target_index;   /* of INDEX and EITHER: from 0, or -1, the last, and before it */
  char target[EP_LIMIT_NAME_BYTES + 1]; /* of NAME and EITHER; a column without a name has its index
                                           for one */
  char positive[EP_LIMIT_WORD_BYTES + 1]; /* of a target of two classes: the word of the positive
                                             one, which is class 1; "" = not given (null). epochd
                                             fills it in where the target has words; without it the
                                             classes keep the order of the data */
  ep_task task;                           /* Default "auto" */
  double test, validation;                /* fractions of the rows, in [0, 1). Default 0 */
  int64_t folds;       /* parts of the rows that are not test rows; 0 = not given (null) */
  int64_t fold;        /* the part that validates, 0 … folds - 1; nothing without folds */
  bool stratify;       /* each split keeps the classes' shares. Default true of a loss that takes
                          classes where shares of the rows test or validate, else false */
  uint64_t split_seed; /* Default 1 */
  char time[EP_LIMIT_NAME_BYTES + 1];  /* of a table: the column by which the latest rows test and
                                          validate; "" = not given (null) */
  char group[EP_LIMIT_NAME_BYTES + 1]; /* of a table: rows of one word of this column stay together;
                                          "" = not given */
  ep_window_spec window;               /* of a table. Default none */
  bool standardize_x, standardize_y;   /* "standardize": ["x", "y"]. Default [] */
  char path[EP_LIMIT_PATH_BYTES + 1];  /* source path: a file or folder below one that the
                                          administrator allowed; mapped, never copied */
  ep_column_rule *columns;             /* [columns_count], owned; of a table */
  int columns_count;                   /* Default 0 */
  ep_column_names features, exclude; /* of a table: the columns to learn from. Default all, none */
  int64_t shape[3]; /* "shape": [C, H, W] of a row; zeros: as the data says, else a vector */
  /* "normalize": {"mean": m, "std": s} (numbers, or one a channel), of values scaled by "scale":
   * ((value * scale) - mean) / std. Bytes stay bytes on the device. Default: none, and scale 1;
   * with bytes and normalize, scale is 1 / 255 unless given. */
  bool normalize;
  double scale;                           /* 0 = not given (null): 1, or 1 / 255 as said above */
  double *normalize_mean, *normalize_std; /* [normalize_channels], owned; NULL = 0 and 1 */
  int normalize_channels;                 /* 1 = the same for all */
  int augment_shift; /* "augment": {"shift": pixels, "flip": bool, "crop": [H, W]} */
  bool augment_flip;
  int64_t augment_crop[2]; /* zeros: none */
} ep_data_spec;

/* Names, meanings and defaults are torch.nn's. A pair is one number for both, or [height, width].
 */
/* What embeds the columns of a table before all layers: the name of none of them. */
#define EP_LAYER_COLUMNS "columns"

typedef char ep_layer_name[EP_LIMIT_LAYER_NAME_BYTES + 1];

/* One to three sides of a row's shape, or numbers of sides, from 1. */
typedef struct {
  int64_t at[3];
  int count;
} ep_layer_sides;

typedef struct ep_layer_spec {
  ep_layer_type type;
  ep_layer_name name;                         /* "" = its number in the list (null) */
  ep_layer_name input[EP_LIMIT_LAYER_INPUTS]; /* names, or numbers, of layers; "x": the data */
  int inputs;                                 /* 0 = the layer before it (null) */
  int64_t in_features;                        /* linear, gru: 0 = inferred; one given is checked */
  int64_t out_features;                       /* linear, gru (hidden_size) */
  bool bias;                                  /* linear, conv2d, gru. Default true */
  ep_init_type init;                          /* of drawn weights. Default "default" */
  double negative_slope;                      /* leaky_relu. Default 0.01 */
  double alpha;                               /* elu. Default 1 */
  double beta, threshold;                     /* softplus. Default 1, 20 */
  int64_t in_channels;                        /* conv2d: 0 = inferred */
  int64_t out_channels;                       /* conv2d */
  int kernel_size[2];                         /* windows; conv1d: the second of each pair */
  int stride[2];                              /* Default 1; pools: kernel_size */
  int padding[2];                             /* Default 0 */
  int dilation[2];                            /* Default 1 */
  int64_t groups;                             /* conv2d. Default 1 */
  int64_t output_size[2];                     /* adaptive_avg_pool2d */
  double p;                                   /* dropout, dropout2d. Default 0.5 */
  double eps;                                 /* norms. Default 1e-5 */
  double momentum;                            /* batch_norm. Default 0.1 */
  bool affine; /* norms: has weight and bias. Default true; instance_norm: false */
  bool sync;   /* batch_norm: over the batch of all replicas. Default false */
  int64_t num_embeddings, embedding_dim; /* embedding: of whole numbers of x */
  int dim;                               /* concat, slice: the side, from 1. Default 1 */
  int64_t start, length;                 /* slice: torch.narrow's; length 0 = the rest (null); start
                                            below 0: from the end */
  ep_column_names columns;               /* slice, instead: columns of the data, by name or glob */
  int64_t (*places)[2]; /* slice: [places_count]: first and length of each part, owned; epochd
                           fills in those of `columns`; NULL = not given */
  int places_count;
  ep_layer_sides shape;         /* reshape */
  ep_layer_sides dims;          /* permute: which side of x each side of y is */
  bool causal;                  /* conv1d. Default false */
  struct ep_layer_spec *layers; /* residual: the block, owned; its output's shape is its input's */
  int layers_count;
} ep_layer_spec;

/* Fields that do not belong to the type are zero. Defaults are torch.optim's. */
typedef struct {
  ep_optimizer_type type; /* Default sgd */
  double lr;              /* Default 0.01; adam, adamw 0.001; lion 1e-4 */
  double momentum;        /* sgd, rmsprop. Default 0 */
  bool nesterov;          /* sgd. Default false; needs momentum */
  double weight_decay;    /* Default 0; adamw 0.01 */
  bool decay_all;         /* "decay_all": weight decay on biases and norms too. Default true */
  double beta1, beta2;    /* "betas": [0.9, 0.999]; lion [0.9, 0.99] */
  double eps;             /* Default 1e-8; adagrad 1e-10 */
  double alpha;           /* rmsprop. Default 0.99 */
  bool centered;          /* rmsprop. Default false */
  double decay;           /* adagrad: lr_decay, nadam: momentum_decay */
} ep_optimizer_spec;

/* "schedule": {"type": …}; formulas are torch.optim.lr_scheduler's. */
typedef struct {
  ep_schedule_type type; /* Default constant */
  int64_t step_size;     /* step: epochs between two drops */
  int64_t *milestones;   /* multi_step: [milestones_count] epochs, ascending, owned */
  int milestones_count;
  double gamma;   /* step, multi_step: default 0.1; exponential: required */
  int64_t t_max;  /* cosine: epochs to the least lr. Default: all */
  double eta_min; /* cosine: the least lr. Default 0 */
  double max_lr;  /* one_cycle: default optimizer.lr. Cosine annealing, per step */
  double pct_start, div_factor, final_div_factor; /* one_cycle. Default 0.3, 25, 1e4 */
  double factor;                                  /* plateau: default 0.1 */
  int64_t patience;      /* plateau: epochs without improvement. Default 10 */
  double threshold;      /* plateau: relative improvement that counts. Default 1e-4 */
  double min_lr;         /* plateau. Default 0 */
  ep_metric metric;      /* plateau: of the validation split. Default loss */
  int64_t warmup_epochs; /* any type but one_cycle: lr rises linearly, step by step, over so many
                            epochs from warmup_factor * lr, which is before the first step, to what
                            the schedule says, which the last of them has. Default 0 */
  double warmup_factor;  /* Default 0 */
} ep_schedule_spec;

/* "parallel": one training on several ranks, replicas times stages. */
typedef struct {
  bool data_auto;    /* "data": "auto": as many replicas as pay, which may be 1 */
  int data, model;   /* replicas; stages. Default 1 */
  int micro_batches; /* pieces of a replica's slice; 0 = not given (null): 4 a stage, at most one a
                        row; 1 without stages */
  int stages[EP_LIMIT_RANKS][2]; /* "stages": [[0, 3], [4, 9]]: the first and last layer of each */
  int stages_count;              /* 0 = not given (null): stages of like cost; else `model` */
  bool elastic;                  /* replicas may share GPUs where there are fewer. Default false */
} ep_parallel_spec;

/* "webhooks": who is told of what. */
typedef struct {
  char url[EP_LIMIT_URL_BYTES + 1];
  bool events[EP_WEBHOOK_COUNT]; /* Default end alone */
} ep_webhook_spec;

/* "slurm": what the job's worker asks Slurm for; "" = by the plan, or Slurm's own default. */
typedef struct {
  char time[EP_SLURM_WORD_BYTES]; /* "2:00:00": api/spec/slurm.h */
  char account[EP_SLURM_WORD_BYTES], qos[EP_SLURM_WORD_BYTES];
  char gres[EP_SLURM_WORD_BYTES]; /* "gpu:a100:2" */
  char constraint[EP_SLURM_WORD_BYTES];
  int64_t nodes; /* that its ranks are spread over; 0: by the plan */
} ep_slurm_spec;

/* "report": what epochs yield beside their losses. */
typedef struct {
  bool layers; /* norms, dead units and histograms of each layer */
} ep_report_spec;

typedef struct {
  char name[EP_LIMIT_NAME_BYTES + 1];
  char *tags[EP_LIMIT_TAGS]; /* owned */
  int tags_count;
  bool pinned;  /* retention leaves it. Default false */
  bool private; /* visible only to its owner and admins. Default: the daemon's --visibility */
  bool visibility_given;                /* the JSON says which */
  char notes[EP_LIMIT_NOTES_BYTES + 1]; /* "" = none (null) */
  int priority;                         /* -100 to 100, higher runs first. Default 0 */
  ep_data_spec data;
  ep_layer_spec *layers; /* [layers_count], owned */
  int layers_count;
  int64_t *freeze; /* "model": {"freeze": [0, 3]}: layers whose parameters stay, owned */
  int freeze_count;
  /* "model": {"init": {"job": id} | {"weights": name}}: first weights from another job, or from an
   * uploaded safetensors file; every tensor that the model names must be there, with its shape. */
  char init_job[EP_ID_BYTES], init_weights[EP_LIMIT_NAME_BYTES + 1];
  int64_t init_checkpoint; /* of that job: its weights after so many steps; -1 = its newest, 0 = no
                              checkpoint. epochd stores the step */
  bool init_optimizer;     /* goes on where that job ended: optimizer, epochs and all */
  ep_parts_spec parts;     /* trained before the job itself, which then has all rows */
  char init_sha256[EP_SHA256_HEX_BYTES]; /* what the name meant at submission; filled by epochd */
  ep_loss_type loss;                     /* "loss": "mse", or {"type": "huber", "delta": 1.0} */
  double loss_parameter;  /* huber: delta, quantile: q, focal: gamma, bce: pos_weight */
  double label_smoothing; /* cross_entropy: {"type": …, "label_smoothing": 0.1}. Default 0 */
  double *class_weights;  /* cross_entropy, nll: "class_weights": [class_weights_count], owned */
  int class_weights_count;
  bool class_weights_balanced; /* "balanced": each class counts as much as another */
  ep_optimizer_spec optimizer;
  ep_schedule_spec schedule;
  double clip_norm, clip_value; /* "clip": {"norm": 1.0, "value": 0.5}. Default 0 = not */
  /* "early_stopping": {"patience": epochs, "metric": "validation.loss", "min_delta": 0,
   * "tolerance": 0}; needs a
   * validation split. Looks at every reported epoch. */
  int64_t early_stopping_patience; /* 0 = not */
  ep_metric early_stopping_metric; /* of the validation split. Default loss */
  double early_stopping_min_delta;
  double early_stopping_tolerance; /* Default 0 */
  bool keep_best; /* "keep": "last" | "best": which weights the job ends with. "best" needs a
                     validation split. Default "last", "best" with early_stopping */
  bool validation_metrics[EP_METRIC_COUNT]; /* "validation_metrics": ["mae"]: in epoch events,
                                               beside loss and error. Default [] */
  int64_t epochs;
  int64_t batch_size;              /* 0: "full". Default "full" */
  bool shuffle;                    /* Default true */
  uint64_t seed;                   /* 0 to 2^53 - 1. Default 1 */
  char device[EP_DEVICE_ID_BYTES]; /* "auto", "cpu", "cuda", "cuda:N", "slurm:NAME". Default "auto"
                                    */
  ep_slurm_spec slurm;
  char executor[EP_EXECUTOR_BYTES]; /* "" = chosen; "cpu/reference", … asks for one by name. Default
                        "" (null in JSON) */
  ep_precision precision;           /* Default fp32 */
  int64_t ttl_seconds;              /* after its end retention deletes it; 0 = not given */
  ep_webhook_spec *webhooks;        /* [webhooks_count], owned */
  int webhooks_count;
  int64_t report_every;    /* epochs between events, beside the first and the last. Default
                              max(1, epochs / 1000) */
  char find[16];           /* "lr": a learning-rate finder instead of a training. Default "" */
  int64_t report_batches;  /* batches between events within an epoch. Default 0 = none */
  ep_report_spec report;   /* "report": {"layers": true} */
  int64_t timelapse_every; /* epochs between moments of a time-lapse; 0 = none */
  double checkpoint_every_seconds; /* 0 = after every segment. Default 30 */
  int64_t checkpoint_keep;         /* older ones, besides the two newest. Default 0 */
  ep_parallel_spec parallel;
  double max_seconds; /* of training, after which it ends. Default 0 = none */
} ep_job_spec;

#endif
