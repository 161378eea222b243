/* limits.h: every ceiling of the project, each with its reason. Nothing else sets one. */
#ifndef EP_API_LIMITS_H
#define EP_API_LIMITS_H

/* A job's spec. */
#define EP_LIMIT_SPEC_BYTES (1 << 20) /* JSON costs 5 bytes of memory a byte: for specs alone */
#define EP_LIMIT_JSON_DEPTH 32        /* deeper than any spec; the parser recurses */
#define EP_LIMIT_JSON_TREE 32 /* bytes of memory for each that a text may have: "{}," takes 100 */
#define EP_LIMIT_HEADER_TREE_BYTES (128LL << 20) /* of a file's JSON: 65,536 tensors or columns */
#define EP_LIMIT_NAME_BYTES 128                  /* a job's, a tag's, a dataset's name */
#define EP_LIMIT_NOTES_BYTES                                           \
  500 /* what people write about a job: it stands in each of its texts \
       */
#define EP_LIMIT_TAGS 16
#define EP_LIMIT_WEBHOOKS 4 /* of a job: a chat, a pipeline, a pager; more is a relay's work */
#define EP_LIMIT_URL_BYTES                                              \
  1023 /* of a webhook: the longest that all servers take is twice that \
        */
#define EP_LIMIT_LABELS_BYTES (1 << 16) /* a PATCH: a name and the tags, every byte escaped */
#define EP_LIMIT_PATH_BYTES 1023
#define EP_LIMIT_LAYER_NAME_BYTES 23
#define EP_LIMIT_SLICE_PLACES 64  /* parts of a value that one slice takes */
#define EP_LIMIT_LAYER_INPUTS 4   /* values that a layer joins */
#define EP_LIMIT_LAYERS 256       /* in all, those within residual blocks too */
#define EP_LIMIT_RESIDUAL_DEPTH 4 /* blocks within blocks */
#define EP_LIMIT_KERNEL 1024      /* a side of a window, a stride, a padding, a dilation */
#define EP_LIMIT_MILESTONES 1024
#define EP_LIMIT_FEATURES (1 << 24)     /* of one layer, one side */
#define EP_LIMIT_PARAMETERS (1LL << 31) /* 8 GiB of float32 */
#define EP_LIMIT_CLASSES 1024           /* three confusion matrices still fit one frame to epochd */
#define EP_LIMIT_EPOCHS 1000000000LL
#define EP_LIMIT_STEPS (1LL << 52)    /* a step number stays exact in a JSON number */
#define EP_LIMIT_ROWS (1LL << 31)     /* a row index fits 32 bits on every device */
#define EP_LIMIT_INLINE_VALUES 100000 /* inline data is for small things: upload the rest */
#define EP_LIMIT_GENERATOR_ROWS 10000000
#define EP_LIMIT_NUMBERS_BYTES (2LL << 30) /* of bytes as float32; above, they stay bytes */
#define EP_LIMIT_RANKS 64                  /* of one job: replicas times stages */
#define EP_LIMIT_FOUND_STEPS 181           /* of a learning-rate finder: 20 a power of ten */
#define EP_LIMIT_TRIED 3                   /* executors that a training times before it begins */
#define EP_LIMIT_MICRO_BATCHES 1024        /* of one replica's slice of a batch */
#define EP_LIMIT_PROBLEM_ERRORS 16         /* errors listed in one response */

/* Sweeps. */
#define EP_LIMIT_SWEEP_AXES 16     /* a space of more is not searched by any number of trials */
#define EP_LIMIT_AXIS_VALUES 10000 /* of one list */
#define EP_LIMIT_SWEEP_WORKERS 64  /* of one sweep: as many as a partition has, or a host GPUs */
#define EP_LIMIT_PRIORITY 100      /* of a job, up and down: enough steps to slip between any two */
#define EP_LIMIT_AGEING_SECONDS                                                                \
  3600                          /* of waiting, that count as a step of priority: an urgent job \
                                   of 100 passes a backlog of four days */
#define EP_LIMIT_TRIALS 1000000 /* of one sweep: some 500 MB of results */
#define EP_LIMIT_TRIAL_RECORDS 4000000LL /* of one sweep, parts counted: 2 GB of results */
#define EP_LIMIT_FOLDS 100
#define EP_LIMIT_INLINE_CHECKS \
  10000000                      /* rows in a sweep's job times values: seconds of checking */
#define EP_LIMIT_JOB_PARTS 1000 /* folds times repeats of a job: they are shown with it */
#define EP_LIMIT_REPEATS 1000
#define EP_LIMIT_STUDY_CELLS 100000 /* of a study: its table is made in one go */

/* Data. */
#define EP_LIMIT_CATEGORIES 10000 /* words of a column: more are no categories to learn from */
#define EP_LIMIT_NAMED_ROWS_BYTES (8 << 20) /* rows by names are a tree: 50 bytes a byte */
#define EP_LIMIT_COLUMN_RULES 1024          /* entries of data.columns: globs say more */
#define EP_LIMIT_ONE_HOT 32 /* words of a column that have a feature each: most rows have them */
#define EP_LIMIT_HASH_BUCKETS 1024           /* features that all words of a column share */
#define EP_LIMIT_ENCODING_BYTES (8 << 20)    /* as JSON: weights have a header of 16 MB */
#define EP_LIMIT_FIT_BYTES (256LL << 20)     /* of training cells, gathered for their figures */
#define EP_LIMIT_WORD_BYTES 256              /* of a category: longer ones are text */
#define EP_LIMIT_WORDS_BYTES (32 << 20)      /* of a table's categories: meta.json holds them */
#define EP_LIMIT_SHOWN_WORDS 20              /* of a category, in a response: the commonest */
#define EP_LIMIT_SHOWN_WORDS_BYTES (1 << 20) /* in a response: there may be 65,536 columns */
#define EP_LIMIT_NUMBERED_NAMES 1000 /* NAME-2, … of datasets: each is a look into the store */
#define EP_LIMIT_SHOWN_ROWS 1000     /* of a dataset, in a response: more are a file */
#define EP_LIMIT_SHOWN_ROWS_BYTES (1 << 20) /* about; what is beyond is the next page's */
#define EP_LIMIT_COLUMN_VALUES \
  1024 /* of a number, kept in case it is a category: more are few rows each */
#define EP_LIMIT_TABLE_VALUES \
  (1 << 17) /* of all its columns: 2 MB of meta.json, read at each check */
#define EP_LIMIT_DISTINCT_BYTES (32 << 20) /* of values told apart while a table is read */
#define EP_LIMIT_IDENTIFIER_ROWS 50        /* as many words in as many rows are names, above this */
#define EP_LIMIT_COLUMNS 65536
#define EP_LIMIT_CSV_FIELD_BYTES 65536
#define EP_LIMIT_NPY_HEADER_BYTES 65536
#define EP_LIMIT_NPY_DIMENSIONS 32         /* NumPy's own, before 2.0 */
#define EP_LIMIT_ROW_DIMENSIONS 3          /* channels, height, width; of more a row is a vector */
#define EP_LIMIT_ARRAYS 64                 /* in one NPZ or safetensors file of data */
#define EP_LIMIT_WEIGHT_TENSORS 65536      /* in one safetensors file of weights */
#define EP_LIMIT_UPLOAD_BYTES (64LL << 30) /* a flag lowers or raises it */
#define EP_LIMIT_ALLOWED_FOLDERS 16        /* flags of the administrator: a list to read */
#define EP_LIMIT_FOLDER_FILES 4096         /* looked through in a folder of data */
#define EP_LIMIT_GZ_RATIO 1000             /* deflate reaches 1032: more than this is a bomb */
#define EP_LIMIT_SAFETENSORS_HEADER_BYTES (16 << 20)
#define EP_LIMIT_ZIP_ENTRIES 500000        /* of pictures: libzip holds some 200 bytes of each */
#define EP_LIMIT_PICTURE_BYTES (128 << 20) /* a file; the largest without compression fits */
#define EP_LIMIT_PICTURE_SIDE 65535        /* JPEG's own, or so; PNG has none to speak of */
#define EP_LIMIT_PICTURE_PIXELS (1 << 25)  /* a camera's 24 million; 4 bytes of each are held */
#define EP_LIMIT_PREDICT_PIXELS (1 << 28)  /* of all pictures of a request: seconds of decoding */
#define EP_LIMIT_PICTURE_SCANS 100         /* of a JPEG; encoders make 10, each over all pixels */

/* A process that reads a file of somebody else's; a flag sets each. */
#define EP_LIMIT_DAEMON_BYTES (64LL << 20) /* epochd, its store, and workers, all of them idle */
#define EP_LIMIT_INGEST_MEMORY_BYTES_MIN (64LL << 20) /* a table of some 40,000 columns */
#define EP_LIMIT_WORKER_BYTES \
  (256LL << 20) /* of all memory, for each process that trains on the CPU */
#define EP_LIMIT_INGEST_MEMORY_BYTES                                                \
  (1LL << 30)                       /* the largest JPEG takes half; tables some 0.1 \
                                     */
#define EP_LIMIT_INGEST_SECONDS 900 /* a CSV of 64 GiB, at a fifth of usual speed */

/* The engine's own threads, beside a training. */
#define EP_LIMIT_CHECK_THREADS 4             /* of --check: more keep no disk busier */
#define EP_LIMIT_PARALLEL_THREADS 32         /* of one loop: more would wait for memory */
#define EP_LIMIT_RANKING_BYTES (256LL << 20) /* for classes that are ranked side by side */

/* The disk of the data folder. */
#define EP_LIMIT_TTL_SECONDS 3153600000LL /* 100 years: in microseconds it fits 64 bits */
#define EP_LIMIT_EXPIRED_JOBS                                          \
  256 /* deleted in one round of retention: between two, others get at \
         the store */
#define EP_LIMIT_RESERVE_BYTES                                       \
  (64 << 20) /* rows, logs and weights of a few jobs; a flag sets it \
              */
#define EP_LIMIT_BALLAST_BYTES                                        \
  (4 << 20) /* a delete: some pages of the store's log, and the log's \
               checkpoint, which comes every 4 MB */

/* Descriptions of data, held for the next job. */
#define EP_LIMIT_CACHED_METAS 16                    /* few data are in use at once */
#define EP_LIMIT_CACHED_META_BYTES (64LL << 20)     /* of all of them: three of the widest */
#define EP_LIMIT_CACHED_META_BYTES_MIN (24LL << 20) /* one of the widest: 65,536 columns */
#define EP_LIMIT_META_BYTES                                             \
  (256LL << 20) /* of one, as text: names and words, every byte escaped \
                 */
#define EP_LIMIT_SMALL_CACHED_BYTES (256 << 10) /* of a description or a curve: it stays cached */
#define EP_LIMIT_LISTED_CONTENTS 256            /* of those in lists, without their columns: 3 MB */

/* What a GPU's worker keeps on disk: compiled kernels, the algorithms of products and of
 * convolutions; and what stays loaded. */
#define EP_LIMIT_CACHED 512          /* files; each takes up to seconds to find out again */
#define EP_LIMIT_CACHED_ANSWERS 8192 /* small ones: a sweep over widths asks for five a trial */
#define EP_LIMIT_CACHED_ANSWER_BYTES 4096  /* of a small one; a kernel has more */
#define EP_LIMIT_CACHED_BYTES (16LL << 20) /* of one; the largest so far has 0.2 MB */
#define EP_LIMIT_LOADED_KERNELS 64 /* more only while jobs run them; to load one takes 1 ms */

/* Files that were read whole and are what was written (engine/files/verified.h). */
#define EP_LIMIT_VERIFIED 1024       /* 256 KiB; those of one daemon that are in use */
#define EP_LIMIT_VERIFIED_SECONDS 60 /* hashing a file of 1 GB takes 1 % of a core then */

/* HTTP. */
#define EP_LIMIT_FILES_LEAST 128 /* descriptors: with fewer than 80 no worker starts */
#define EP_LIMIT_HEAD_BYTES \
  10240                     /* of a request: it fits the pool of its connection, decoded too */
#define EP_LIMIT_HEADERS 64 /* browsers send about 20 */
/* What the library takes of the pool of a connection, 16 KiB, for a head: its bytes, and so many
 * for each header, query parameter and cookie. */
#define EP_LIMIT_FIELD_BYTES 64
#define EP_LIMIT_HEAD_MEMORY_BYTES (EP_LIMIT_HEAD_BYTES + EP_LIMIT_HEADERS * EP_LIMIT_FIELD_BYTES)

/* The wire between epochd and a worker. */
#define EP_LIMIT_YOUNG_SECONDS 5 /* of training, that are repeated rather than saved */
#define EP_LIMIT_THINNING                                                 \
  24 /* halvings of a log: one of 16 million, of all reports there may be \
      */
#define EP_LIMIT_CHECKPOINTS 1000 /* that a job keeps: they are listed in one response */
#define EP_LIMIT_FRAME_BYTES (16 << 20)
#define EP_LIMIT_HTTP_BYTES (1LL << 30)     /* of bodies and responses in memory; a flag sets it */
#define EP_LIMIT_HTTP_BYTES_MIN (32 << 20)  /* where there is little memory: some of the largest */
#define EP_LIMIT_SMALL_RESPONSE_BYTES 16384 /* never refused: a job, a refusal, a probe */
#define EP_LIMIT_TRIM_BYTES (4 << 20)       /* of a request, after which it is returned… */
#define EP_LIMIT_LITTLE_MEMORY_BYTES (512LL << 20) /* … where all of the memory is no more */
#define EP_LIMIT_UNRESERVED_BYTES                                \
  (64 << 10) /* of a text that grows: less is not worth counting \
              */
#define EP_LIMIT_IDLE_SECONDS                                        \
  5 /* after which larger ones are forgotten, and memory is returned \
     */
#define EP_LIMIT_FRAMES_BYTES (64 << 20) /* on their way to one worker: some of the largest */
#define EP_LIMIT_HELD_FRAMES_BYTES                                                               \
  (8 << 20) /* of a running job, held by its relay: 140,000 epochs; epochd may die and need them \
             */
#define EP_LIMIT_HANDOVER_FRAMES_BYTES \
  (32 << 20) /* of a handover: twice what a relay holds, and what comes until its worker pauses */
/* A handover that no attempt has taken up is removed then. */
#define EP_LIMIT_HANDOVER_SECONDS (7 * 86400)
#define EP_LIMIT_HELD_MODEL_BYTES (64 << 20) /* of weights, held for the next question */
#define EP_LIMIT_C_SOURCE_BYTES (16 << 20)   /* of a C header: a compiler takes seconds for it */
#define EP_LIMIT_PREDICT_ROWS 100000
#define EP_LIMIT_PREDICT_BYTES (8 << 20)
#define EP_LIMIT_PLOT_BYTES (32 << 20)     /* numbers of one: those of 100,000 rows */
#define EP_LIMIT_PLOT_SIDE 512             /* points of a side: 262,144 predictions take a second */
#define EP_LIMIT_PLOT_REPEATS 1000         /* shuffles of a column: close ones are told apart */
#define EP_LIMIT_PLOT_COLUMNS 512          /* by importance: more bars are no picture */
#define EP_LIMIT_PLOT_SHUFFLED 20000000    /* rows predicted for one: a minute of a small network */
#define EP_LIMIT_PLOT_SHOWN_ROWS 100       /* of those taken wrongly: a page of pictures */
#define EP_LIMIT_PLOT_TILES 1024           /* of weights: 32 a side are told apart */
#define EP_LIMIT_PLOT_WEIGHTS 1000000      /* of one layer, drawn: more than a screen has dots */
#define EP_LIMIT_MOMENTS 240               /* of a time-lapse, beside its first: 10 s of film */
#define EP_LIMIT_MOMENTS_BYTES (1LL << 30) /* of their weights on disk, all together */
#define EP_LIMIT_PREDICT_STEPS 10000       /* of a forecast, one after another within a minute */
#define EP_LIMIT_CALIBRATION_BYTES 65536   /* a file of 16 executors' figures takes 8 KiB */
#define EP_LIMIT_COST_TERMS 10             /* of one executor: cpu/fused has as many */
#define EP_LIMIT_INFERENCE_BYTES 65536     /* its id, its parameters, …: each part but the data */
#define EP_LIMIT_MODELS 1000               /* published: they are listed in one response */
#define EP_LIMIT_READY_BYTES (4 << 20)  /* free, else not ready: the rows and logs of a few jobs */
#define EP_LIMIT_LIST_JOBS 1000         /* jobs in one page of a list */
#define EP_LIMIT_LIST_BYTES (4LL << 20) /* of their texts; what is beyond is the next page's */
#define EP_LIMIT_LIST_READ_BYTES \
  (32LL << 20)                      /* of descriptions, for a page of datasets: a second */
#define EP_LIMIT_DEVICE_NUMBER 1024 /* of a GPU: "cuda:1023" is the last */
#define EP_LIMIT_DEVICES 64         /* no host has more GPUs, with a worker process each */
#define EP_LIMIT_CPU_JOBS 64        /* at once: a process of some 8 MB each */
#define EP_LIMIT_WORKERS (EP_LIMIT_DEVICES + EP_LIMIT_CPU_JOBS + 2 * EP_LIMIT_SLURM_WORKERS)

/* Slurm, by its commands. */
#define EP_LIMIT_SLURM_COMMAND_MS 30000          /* a busy slurmctld takes seconds */
#define EP_LIMIT_SLURM_OUTPUT_BYTES (64LL << 20) /* squeue --json of 20,000 jobs */
#define EP_LIMIT_SLURM_ENTRY_BYTES (1 << 20) /* of one job or node in it: about 4 kB are usual */
#define EP_LIMIT_SLURM_ARRAY 1000            /* tasks: Slurm's own default, MaxArraySize, is 1001 */
#define EP_LIMIT_SLURM_JOBS 65536            /* of ours, tasks counted: 60 MB */
#define EP_LIMIT_SLURM_NODES 65536           /* the largest clusters have a tenth */
#define EP_LIMIT_SLURM_PARTITIONS 1024       /* a list to read */
#define EP_LIMIT_SLURM_SCRIPT_BYTES 16384    /* of a batch script: a line for each worker */
#define EP_LIMIT_SLURM_INPUT_BYTES (2 << 20) /* of a command: 64 workers of Kubernetes */
#define EP_LIMIT_SLURM_SLACK_BYTES (1 << 30) /* a worker and its relay, libraries of a GPU */
#define EP_LIMIT_SLURM_WORKERS 64 /* of a partition, at once: a place of the supervisor each */
#define EP_LIMIT_NODE_DATASETS_BYTES (64LL << 30) /* a node's disk is others' too */
#define EP_LIMIT_SLURM_OPTIONS 64                 /* words of --slurm-options */
#define EP_LIMIT_KUBERNETES_TEMPLATE_BYTES 16384  /* of a Job, as JSON: a usual one has 2 kB */
#define EP_LIMIT_KUBERNETES_JOBS 4096 /* of a namespace; those that ended stay ten minutes */

/* Events. */
#define EP_LIMIT_EVENT_BYTES 65536 /* one line; an end event with a 100-class confusion matrix */
#define EP_LIMIT_LOG_BYTES (256 << 20)    /* of one job, until it is thinned: a million reports */
#define EP_LIMIT_REPORTED_EPOCHS 10000000 /* lines of one job: epochs / report_every */
#define EP_LIMIT_REPORTED_LAYERS 128      /* in one `layers` line: they fit EP_LIMIT_EVENT_BYTES */
#define EP_LIMIT_LAYERS_LINES 1000        /* of one job: a chart has no more points across */
#define EP_LIMIT_LAYERS_PARAMETERS (1 << 24) /* unless all are linear: 128 MB of a gradient */
#define EP_LIMIT_HISTOGRAM_BINS 16           /* of a layer's outputs: a shape to look at */
#define EP_LIMIT_CURVE_POINTS 100000
#define EP_LIMIT_CURVES_BYTES (128LL << 20) /* held for the next request: two of the longest */
#define EP_LIMIT_COMPARED_JOBS 32           /* more curves in one chart tell nobody anything */
#define EP_LIMIT_COMPARED_POINTS 10000      /* of each of them: 40 MB in all */
#define EP_LIMIT_DIFFERENCES 1000           /* rows of a table to be read */

/* Webhooks. */
#define EP_LIMIT_DELIVERIES 10000      /* that wait: further messages fail at once. 20 MB of rows */
#define EP_LIMIT_OWNER_DELIVERIES 5000 /* of them of one owner: others have room */
#define EP_LIMIT_TRANSFERS 16          /* deliveries at once: a TLS connection takes 100 KB */
#define EP_LIMIT_HOST_TRANSFERS 2      /* to one host: a slow one leaves room for others */
#define EP_LIMIT_DELIVERY_SECONDS 10   /* of one attempt, the connection included */
#define EP_LIMIT_DELIVERY_BYTES (64 << 10)  /* of a response, which nobody reads */
#define EP_LIMIT_DELIVERY_DAY_SECONDS 86400 /* of all attempts: a receiver's night */
#define EP_LIMIT_BACKOFF_SECONDS 3600       /* the longest wait between two */
#define EP_LIMIT_MESSAGE_BYTES (64 << 10)   /* a body: a job without its spec takes a few KB */
#define EP_LIMIT_WEBHOOK_SECRETS 4          /* each signs: the new one, the old one, and spare */
#define EP_LIMIT_BEST_SECONDS 10      /* between two `best` of a job: a person reads no faster */
#define EP_LIMIT_ALLOWED_ADDRESSES 64 /* of --webhook-allow, and of --trusted-proxy */

/* epochctl. */
#define EP_LIMIT_CLIENT_RESPONSE_BYTES (64 << 20) /* a page of 1000 jobs needs less */
#define EP_LIMIT_CLIENT_REFUSAL_BYTES (1 << 20)   /* a problem with 16 errors needs 20 kB */
#define EP_LIMIT_CLIENT_PAGES 100                 /* looked through for a part of an id */

/* Who may send requests. */
#define EP_LIMIT_TOKENS 1024                /* of a token file: each request is held against all */
#define EP_LIMIT_TOKEN_FILE_BYTES (1 << 20) /* so many take less than half of it */
#define EP_LIMIT_WRONG_TOKENS 20            /* from one address in a row; then one a second */
#define EP_LIMIT_WATCHED_ADDRESSES 1024     /* of wrong tokens: 32 KiB */

#define EP_LIMIT_AUDIT_LINE_BYTES (1 << 17) /* a path of 8 KiB, every byte escaped */

/* Command lines and settings. */
#define EP_LIMIT_ARGUMENTS 256 /* words, and options: ids that a shell puts in a command line */
#define EP_LIMIT_SETTINGS_BYTES 65536 /* a file of settings: every path of the longest kind */

#endif
