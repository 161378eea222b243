/* The job's spec: what is refused, why, and where the pointer points. */
#include <string.h>

#include "api/spec/spec.h"
#include "tests/suite.h"
#include "tests/unit/api/spec/spec_texts.h"

static const struct {
  const char *text, *pointer, *detail; /* detail: a part of it */
} refused[] = {
    /* What must be there. */
    {"{}", "/data", "required"},
    {"{" MODEL "," REST "}", "/data", "\"data\" is required"},
    {"{" XOR "," REST "}", "/model", "required"},
    {"{" XOR ",\"model\":{}," REST "}", "/model/layers", "required"},
    {"{" XOR "," MODEL ",\"epochs\":1}", "/loss", "required"},
    {"{" XOR "," MODEL ",\"loss\":\"mse\"}", "/epochs", "required"},
    {"[]", "", "a job is a JSON object, not an array"},
    {"3", "", "not a number"},
    /* Unknown names. */
    {WITH("\"epoch\":1"), "/epoch", "unknown field \"epoch\": did you mean \"epochs\"?"},
    {WITH("\"zzzzzz\":1"), "/zzzzzz", "known are name, tags"},
    {WITH("\"a/b~c\":1"), "/a~1b~0c", "unknown field"},
    {WITH("\"seed\":18446744073709551615"), "/seed", "must be an integer"},
    {WITH("\"optimizer\":{\"type\":\"sgd\",\"momentun\":0.5}"), "/optimizer/momentun",
     "did you mean \"momentum\"?"},
    {WITH("\"optimizer\":{\"type\":\"adamm\"}"), "/optimizer/type", "did you mean \"adam\"?"},
    {WITH("\"optimizer\":{\"type\":\"sdg\"}"), "/optimizer/type", "did you mean \"sgd\"?"},
    {"{" XOR "," MODEL ",\"epochs\":1,\"loss\":{\"delta\":1}}", "/loss/type",
     "\"type\" is required"},
    {WITH("\"optimizer\":7"), "/optimizer", "an object or a word, not a number"},
    {WITH("\"precision\":\"fp16\""), "/precision", "later release"},
    {WITH("\"precision\":\"fp31\""), "/precision", "did you mean \"fp32\"?"},
    {WITH("\"precision\":32"), "/precision", "not a number"},
    {WITH("\"checkpoint\":{\"every\":1}"), "/checkpoint/every", "every_seconds"},
    {"{" XOR "," MODEL ",\"epochs\":1,\"loss\":\"mes\"}", "/loss", "did you mean \"mse\"?"},
    {"{" XOR "," MODEL ",\"epochs\":1,\"loss\":{\"type\":\"mse\",\"delta\":1}}", "/loss/delta",
     "unknown field"},
    {"{" XOR "," MODEL ",\"epochs\":1,\"loss\":{\"type\":\"huber\",\"delta\":0}}", "/loss/delta",
     "above 0"},
    /* Types and ranges. */
    {WITH("\"name\":5"), "/name", "must be a string, not a number"},
    {WITH("\"name\":\"a\\nb\""), "/name", "control characters"},
    {WITH("\"priority\":101"), "/priority", "from -100 to 100, not 101"},
    {WITH("\"priority\":-101"), "/priority", "from -100 to 100"},
    {WITH("\"priority\":0.5"), "/priority", "an integer"},
    {WITH("\"shuffle\":1"), "/shuffle", "must be true or false, not a number"},
    {WITH("\"shuffle\":null"), "/shuffle", "not null"},
    {WITH("\"batch_size\":0"), "/batch_size", "from 1 to 2147483648 or \"full\", not 0"},
    {WITH("\"batch_size\":\"all\""), "/batch_size", "\"full\", not a string"},
    {WITH("\"batch_size\":2147483649"), "/batch_size", "not 2147483649"},
    {WITH("\"seed\":-1"), "/seed", "from 0"},
    {WITH("\"seed\":9007199254740992"), "/seed", "not 9007199254740992"},
    {WITH("\"seed\":9223372036854775807"), "/seed", "must be an integer"},
    {WITH("\"seed\":1e300"), "/seed", "must be an integer"},
    {WITH("\"report_every\":0"), "/report_every", "from 1"},
    {WITH("\"device\":\"gpu\""), "/device", "\"cuda:N\", not \"gpu\""},
    {WITH("\"device\":\"cuda:\""), "/device", "cuda"},
    {WITH("\"device\":\"cuda:01\""), "/device", "cuda"},
    {WITH("\"device\":\"cuda:1x\""), "/device", "cuda"},
    {WITH("\"device\":\"cuda:99999\""), "/device", "cuda"},
    {WITH("\"executor\":\"fused\""), "/executor", "an executor's name"},
    {WITH("\"executor\":\"\""), "/executor", "an executor's name"},
    {WITH("\"executor\":\"cuda/../x\""), "/executor", "an executor's name"},
    {WITH("\"device\":\"cpu\",\"executor\":\"cuda/general\""), "/executor", "another kind"},
    {WITH("\"checkpoint\":{\"every_seconds\":-1}"), "/checkpoint/every_seconds", "0"},
    {WITH("\"optimizer\":{\"type\":\"sgd\",\"lr\":-0.1}"), "/optimizer/lr", "from 0"},
    {WITH("\"optimizer\":{\"type\":\"sgd\",\"lr\":\"0.1\"}"), "/optimizer/lr", "not a string"},
    {WITH("\"optimizer\":{\"type\":\"sgd\",\"momentum\":1.1}"), "/optimizer/momentum",
     "from 0 to 1"},
    {WITH("\"optimizer\":{\"type\":\"sgd\",\"weight_decay\":-1}"), "/optimizer/weight_decay",
     "from 0"},
    {"{" XOR "," MODEL ",\"loss\":\"mse\",\"epochs\":0}", "/epochs", "from 1 to 1000000000"},
    {"{" XOR "," MODEL ",\"loss\":\"mse\",\"epochs\":1000000001}", "/epochs", "not 1000000001"},
    {"{" XOR "," MODEL ",\"loss\":\"mse\",\"epochs\":\"10\"}", "/epochs", "not a string"},
    {"{" XOR "," MODEL ",\"loss\":\"mse\",\"epochs\":1000000000,\"report_every\":99}",
     "/report_every", "10000000"},
    {WITH("\"tags\":\"a\""), "/tags", "must be an array"},
    {WITH("\"tags\":[\"a\",\"\"]"), "/tags/1", "1 to 128 bytes"},
    {WITH("\"tags\":[7]"), "/tags/0", "must be a string"},
    {WITH("\"tags\":[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17]"), "/tags", "at most 16"},
    /* Several ranks. */
    {PARALLEL("[2]"), "/parallel", "not an array"},
    {PARALLEL("{\"dta\":2}"), "/parallel/dta", "did you mean \"data\"?"},
    {PARALLEL("{\"data\":0}"), "/parallel/data", "from 1 to 64 or \"auto\", not 0"},
    {PARALLEL("{\"data\":65}"), "/parallel/data", "not 65"},
    {PARALLEL("{\"data\":\"all\"}"), "/parallel/data", "\"auto\", not a string"},
    {PARALLEL("{\"data\":null}"), "/parallel/data", "not null"},
    {PARALLEL("{\"model\":65}"), "/parallel/model", "from 1 to 64, not 65"},
    {PARALLEL("{\"data\":13,\"model\":5}"), "/parallel",
     "13 replicas of 5 stages are 65 ranks: the limit is 64"},
    {PARALLEL("{\"model\":2,\"micro_batches\":1025}"), "/parallel/micro_batches", "not 1025"},
    {PARALLEL("{\"data\":2,\"micro_batches\":2}"), "/parallel/micro_batches", "no stages"},
    {PARALLEL("{\"stages\":[[0,1],[2,2]],\"model\":3}"), "/parallel/model", "must be 2"},
    {PARALLEL("{\"stages\":[]}"), "/parallel/stages", "1 to 64 stages"},
    {PARALLEL("{\"stages\":7}"), "/parallel/stages", "an array"},
    {PARALLEL("{\"stages\":[[0,1],[2]]}"), "/parallel/stages/1", "[0, 3]"},
    {PARALLEL("{\"stages\":[0,2]}"), "/parallel/stages/0", "[0, 3]"},
    {PARALLEL("{\"stages\":[[1,2]]}"), "/parallel/stages/0/0", "must be 0, the first layer"},
    {PARALLEL("{\"stages\":[[0,0],[2,2]]}"), "/parallel/stages/1/0",
     "must be 1, the layer after the stage before"},
    {PARALLEL("{\"stages\":[[0,1],[1,2]]}"), "/parallel/stages/1/0", "must be 2"},
    {PARALLEL("{\"stages\":[[0,1],[2,1]]}"), "/parallel/stages/1/1", "at least 2"},
    {PARALLEL("{\"stages\":[[0,0],[1,1]]}"), "/parallel/stages/1/1",
     "must be at least 2, the last layer"},
    {PARALLEL("{\"stages\":[[0,3]]}"), "/parallel/stages/0/1", "from 0 to 2, not 3"},
    {PARALLEL("{\"stages\":[[0,0.5]]}"), "/parallel/stages/0/1", "an integer"},
    /* Layers. */
    {WITH_LAYERS("[]"), "/model/layers", "1 to 256 layers, not 0"},
    {WITH_LAYERS("{}"), "/model/layers", "an array of layers"},
    {WITH_LAYERS("[\"relu\"]"), "/model/layers/0", "must be an object, not a string"},
    {WITH_LAYERS("[{\"type\":\"relu\"},{}]"), "/model/layers/1/type", "required"},
    {WITH_LAYERS("[{\"type\":\"linaer\",\"out_features\":1}]"), "/model/layers/0/type",
     "did you mean \"linear\"?"},
    {WITH_LAYERS("[{\"type\":\"maxpool2d\"}]"), "/model/layers/0/type",
     "did you mean \"max_pool2d\"?"},
    {WITH_LAYERS("[{\"type\":\"conv2d\",\"kernel_size\":3}]"), "/model/layers/0/out_channels",
     "required"},
    {WITH_LAYERS("[{\"type\":\"conv2d\",\"out_channels\":1}]"), "/model/layers/0/kernel_size",
     "required"},
    {CONV("\"kernel_size\":0"), "/model/layers/0/kernel_size", "from 1 to 1024, not 0"},
    {CONV("\"kernel_size\":1025"), "/model/layers/0/kernel_size", "not 1025"},
    {CONV("\"kernel_size\":[3]"), "/model/layers/0/kernel_size", "two numbers in an array"},
    {CONV("\"kernel_size\":\"3\""), "/model/layers/0/kernel_size", "not a string"},
    {CONV("\"kernel_size\":[3,2.5]"), "/model/layers/0/kernel_size/1", "an integer"},
    {CONV("\"kernel_size\":3,\"stride\":0"), "/model/layers/0/stride", "from 1"},
    {CONV("\"kernel_size\":3,\"padding\":[0,-1]"), "/model/layers/0/padding/1", "from 0"},
    {CONV("\"kernel_size\":3,\"padding\":\"same\""), "/model/layers/0/padding", "not a string"},
    {CONV("\"kernel_size\":3,\"groups\":0"), "/model/layers/0/groups", "from 1"},
    {CONV("\"kernel_size\":3,\"p\":0.5"), "/model/layers/0/p", "unknown field"},
    {WITH_LAYERS("[{\"type\":\"avg_pool2d\",\"kernel_size\":2,\"dilation\":2}]"),
     "/model/layers/0/dilation", "unknown field"},
    {WITH_LAYERS("[{\"type\":\"adaptive_avg_pool2d\"}]"), "/model/layers/0/output_size",
     "required"},
    {WITH_LAYERS("[{\"type\":\"dropout\",\"p\":1}]"), "/model/layers/0/p",
     "of at least 0 and below 1"},
    {WITH_LAYERS("[{\"type\":\"batch_norm\",\"eps\":0}]"), "/model/layers/0/eps", "from 1e-30"},
    {WITH_LAYERS("[{\"type\":\"layer_norm\",\"momentum\":0.1}]"), "/model/layers/0/momentum",
     "unknown field"},
    {WITH_LAYERS("[{\"type\":\"embedding\",\"num_embeddings\":3}]"),
     "/model/layers/0/embedding_dim", "required"},
    {WITH_LAYERS("[{\"type\":\"softplus\",\"beta\":0}]"), "/model/layers/0/beta", "above 0"},
    {WITH_LAYERS("[{\"type\":\"residual\"}]"), "/model/layers/0/layers", "required"},
    {WITH_LAYERS("[{\"type\":\"residual\",\"layers\":[]}]"), "/model/layers/0/layers",
     "1 to 256 layers, not 0"},
    {WITH_LAYERS("[{\"type\":\"relu\"},{\"type\":\"residual\",\"layers\":[{\"type\":\"conv2d\","
                 "\"out_channels\":1,\"kernel_size\":1,\"padding\":-1}]}]"),
     "/model/layers/1/layers/0/padding", "from 0"},
    /* The model beside its layers. */
    {WITH_MODEL("\"freeze\":[1]"), "/model/freeze/0", "from 0 to 0, not 1"},
    {WITH_MODEL("\"freeze\":[-1]"), "/model/freeze/0", "from 0"},
    {WITH_MODEL("\"freeze\":[0,0]"), "/model/freeze/1", "given twice"},
    {WITH_MODEL("\"freeze\":0"), "/model/freeze", "an array of numbers"},
    {WITH_MODEL("\"init\":{\"job\":\"job_1\",\"weights\":\"a\"}"), "/model/init", "both given"},
    {WITH_MODEL("\"init\":{}"), "/model/init", "needs one of"},
    {WITH_MODEL("\"init\":{\"job\":\"../x\"}"), "/model/init/job", "a job's id"},
    {WITH_MODEL("\"init\":{\"weights\":\"../x\"}"), "/model/init/weights", "a dataset's name"},
    {WITH_MODEL("\"init\":{\"weights\":\"a\",\"sha256\":\"1\"}"), "/model/init/sha256",
     "64 hexadecimal"},
    /* Losses with figures. */
    {WITH_LOSS("{\"type\":\"cross_entropy\",\"label_smoothing\":1.5}"), "/loss/label_smoothing",
     "from 0 to 1"},
    {WITH_LOSS("{\"type\":\"nll\",\"label_smoothing\":0.1}"), "/loss/label_smoothing",
     "unknown field"},
    {WITH_LOSS("{\"type\":\"nll\",\"class_weights\":[1,-1]}"), "/loss/class_weights/1", "from 0"},
    {WITH_LOSS("{\"type\":\"nll\",\"class_weights\":[]}"), "/loss/class_weights",
     "a number for each class"},
    {WITH_LOSS("{\"type\":\"nll\",\"class_weights\":{}}"), "/loss/class_weights",
     "an array of numbers, not an object"},
    {WITH_LOSS("{\"type\":\"nll\",\"class_weights\":[0,0]}"), "/loss/class_weights",
     "all weights are 0"},
    /* Optimizers: each has its own fields. */
    {WITH("\"optimizer\":{\"type\":\"sgd\",\"betas\":[0.9,0.9]}"), "/optimizer/betas",
     "unknown field"},
    {WITH("\"optimizer\":{\"type\":\"adam\",\"betas\":[0.9,1]}"), "/optimizer/betas/1",
     "from 0 to 0.9999999, not 1"},
    {WITH("\"optimizer\":{\"type\":\"adam\",\"betas\":0.9}"), "/optimizer/betas",
     "must be two numbers in an array, not a number"},
    {WITH("\"optimizer\":{\"type\":\"adam\",\"momentum\":0.9}"), "/optimizer/momentum",
     "unknown field"},
    {WITH("\"optimizer\":{\"type\":\"lion\",\"eps\":1}"), "/optimizer/eps", "unknown field"},
    {WITH("\"optimizer\":{\"type\":\"adagrad\",\"lr_decay\":-1}"), "/optimizer/lr_decay", "from 0"},
    {WITH("\"optimizer\":{\"type\":\"rmsprop\",\"alpha\":2}"), "/optimizer/alpha", "from 0 to 1"},
    /* Schedules. */
    {WITH("\"schedule\":\"cosin\""), "/schedule", "did you mean \"cosine\"?"},
    {WITH("\"schedule\":{\"type\":\"step\"}"), "/schedule/step_size", "required"},
    {WITH("\"schedule\":\"exponential\""), "/schedule/gamma", "required"},
    {WITH("\"schedule\":{\"type\":\"multi_step\",\"milestones\":[3,3]}"), "/schedule/milestones/1",
     "greater than the one before, 3"},
    {WITH("\"schedule\":{\"type\":\"multi_step\",\"milestones\":[0]}"), "/schedule/milestones/0",
     "from 1"},
    {WITH("\"schedule\":{\"type\":\"one_cycle\",\"warmup_epochs\":1}"), "/schedule/warmup_epochs",
     "unknown field"},
    {WITH("\"schedule\":{\"type\":\"reduce_on_plateau\",\"factor\":1}"), "/schedule/factor",
     "below 1"},
    {WITH("\"schedule\":{\"type\":\"cosine\",\"t_max\":0}"), "/schedule/t_max", "from 1"},
    /* Clipping, stopping, keeping. */
    {WITH("\"clip\":{\"norm\":0}"), "/clip/norm", "above 0"},
    {WITH("\"clip\":1"), "/clip", "must be an object"},
    {WITH("\"early_stopping\":{}"), "/early_stopping/patience", "required"},
    {WITH("\"early_stopping\":{\"patience\":0}"), "/early_stopping/patience", "from 1"},
    {WITH("\"early_stopping\":{\"patience\":1,\"metric\":\"loss\"}"), "/early_stopping/metric",
     "\"validation.loss\" or \"validation.error\""},
    {WITH("\"early_stopping\":{\"patience\":1,\"metric\":1}"), "/early_stopping/metric",
     "not a number"},
    {WITH("\"keep\":\"all\""), "/keep", "\"last\" or \"best\""},
    {WITH_LAYERS("[{\"type\":\"linear\"}]"), "/model/layers/0/out_features", "required"},
    {WITH_LAYERS("[{\"type\":\"linear\",\"out_features\":0}]"), "/model/layers/0/out_features",
     "from 1 to 16777216"},
    {WITH_LAYERS("[{\"type\":\"linear\",\"out_features\":16777217}]"),
     "/model/layers/0/out_features", "not 16777217"},
    {WITH_LAYERS("[{\"type\":\"linear\",\"out_features\":1,\"in_features\":0}]"),
     "/model/layers/0/in_features", "from 1"},
    {WITH_LAYERS("[{\"type\":\"linear\",\"out_features\":1,\"bias\":0}]"), "/model/layers/0/bias",
     "true or false"},
    {WITH_LAYERS("[{\"type\":\"linear\",\"out_features\":1,\"init\":\"xaiver\"}]"),
     "/model/layers/0/init", "did you mean \"xavier\"?"},
    {WITH_LAYERS("[{\"type\":\"relu\",\"negative_slope\":0.1}]"), "/model/layers/0/negative_slope",
     "unknown field"},
    {WITH_LAYERS("[{\"type\":\"leaky_relu\",\"negative_slope\":1e39}]"),
     "/model/layers/0/negative_slope", "from -3e+38 to 3e+38"},
    /* Data. */
    {WITH_DATA("7"), "/data", "must be an object"},
    {WITH_DATA("{}"), "/data", "needs one of"},
    {WITH_DATA("{\"path\":\"\"}"), "/data/path", "without \"..\""},
    {WITH_DATA("{\"path\":\"/data/../etc/passwd\"}"), "/data/path", "without \"..\""},
    {WITH_DATA("{\"path\":\"..\"}"), "/data/path", "without \"..\""},
    {WITH_DATA("{\"path\":\"a/..\"}"), "/data/path", "without \"..\""},
    {WITH_DATA("{\"path\":7}"), "/data/path", "must be a string"},
    {WITH_DATA("{\"dataset\":\"a\",\"path\":\"b\"}"), "/data/path", "both given"},
    {WITH_DATA("{\"dataset\":\"a\",\"shape\":[28,28]}"), "/data/shape", "[channels, height"},
    {WITH_DATA("{\"dataset\":\"a\",\"shape\":[1,28,0]}"), "/data/shape/2", "from 1"},
    {WITH_DATA("{\"dataset\":\"a\",\"scale\":0}"), "/data/scale", "above 0"},
    {WITH_DATA("{\"dataset\":\"a\",\"normalize\":{\"std\":0}}"), "/data/normalize/std", "above 0"},
    {WITH_DATA("{\"dataset\":\"a\",\"normalize\":{\"std\":[1,0]}}"), "/data/normalize/std/1",
     "above 0"},
    {WITH_DATA("{\"dataset\":\"a\",\"normalize\":{\"mean\":[]}}"), "/data/normalize/mean",
     "at least one"},
    {WITH_DATA("{\"dataset\":\"a\",\"normalize\":{\"mean\":\"0\"}}"), "/data/normalize/mean",
     "not a string"},
    {WITH_DATA("{\"dataset\":\"a\",\"normalize\":{\"mean\":[1,2,3],\"std\":[1,2]}}"),
     "/data/normalize/std", "has 2 figures, mean has 3"},
    {WITH_DATA("{\"dataset\":\"a\",\"standardize\":[\"x\"],\"normalize\":{}}"), "/data/normalize",
     "standardized already"},
    {WITH_DATA("{\"dataset\":\"a\",\"standardize\":[\"x\"],\"scale\":2}"), "/data/scale",
     "standardized already"},
    {WITH_DATA("{\"dataset\":\"a\",\"augment\":{\"shift\":-1}}"), "/data/augment/shift", "from 0"},
    {WITH_DATA("{\"dataset\":\"a\",\"augment\":{\"crop\":24}}"), "/data/augment/crop",
     "two numbers in an array"},
    {WITH_DATA("{\"dataset\":\"a\",\"augment\":{\"crop\":[24,0]}}"), "/data/augment/crop/1",
     "from 1"},
    {WITH_DATA("{\"dataset\":\"a\",\"augment\":{\"flip\":1}}"), "/data/augment/flip",
     "true or false"},
    {WITH_DATA("{\"dataset\":\"a\",\"generator\":\"xor\"}"), "/data/generator", "both given"},
    {WITH_DATA("{\"dataset\":\"\"}"), "/data/dataset", "a dataset's name"},
    {WITH_DATA("{\"dataset\":\"../x\"}"), "/data/dataset", "a dataset's name"},
    {WITH_DATA("{\"dataset\":\"a/b\"}"), "/data/dataset", "a dataset's name"},
    {WITH_DATA("{\"dataset\":\".a\"}"), "/data/dataset", "a dataset's name"},
    {WITH_DATA("{\"dataset\":\"a\",\"sha256\":\"12\"}"), "/data/sha256", "64 hexadecimal"},
    {WITH_DATA("{\"dataset\":\"a\",\"rows\":5}"), "/data/rows", "unknown field"},
    {WITH_DATA("{\"dataset\":\"a\",\"test\":1}"), "/data/test", "of at least 0 and below 1"},
    {WITH_DATA("{\"dataset\":\"a\",\"test\":-0.1}"), "/data/test", "below 1"},
    {WITH_DATA("{\"dataset\":\"a\",\"test\":0.5,\"validation\":0.5}"), "/data/validation",
     "no rows to train on"},
    {WITH_DATA("{\"dataset\":\"a\",\"target\":\"\"}"), "/data/target", "1 to 128 bytes"},
    {WITH_DATA("{\"dataset\":\"a\",\"target\":65536}"), "/data/target", "-65536 to 65535"},
    {WITH_DATA("{\"dataset\":\"a\",\"target\":true}"), "/data/target", "column's name"},
    {WITH_DATA("{\"dataset\":\"a\",\"standardize\":\"x\"}"), "/data/standardize", "an array"},
    {WITH_DATA("{\"dataset\":\"a\",\"standardize\":[\"x\",\"z\"]}"), "/data/standardize/1",
     "\"x\" or \"y\""},
    {WITH_DATA("{\"dataset\":\"a\",\"standardize\":[\"x\",\"x\"]}"), "/data/standardize/1",
     "given twice"},
    /* Folds. */
    {WITH_DATA("{\"dataset\":\"a\",\"folds\":1,\"fold\":0}"), "/data/folds",
     "from 2 to 100, not 1"},
    {WITH_DATA("{\"dataset\":\"a\",\"folds\":101,\"fold\":0}"), "/data/folds",
     "from 2 to 100, not 101"},
    {WITH_DATA("{\"dataset\":\"a\",\"folds\":5}"), "/data/fold",
     "required with folds: give the fold that validates, from 0 to 4"},
    {WITH_DATA("{\"dataset\":\"a\",\"folds\":5,\"fold\":null}"), "/data/fold", "is required"},
    {WITH_DATA("{\"dataset\":\"a\",\"fold\":0}"), "/data/fold", "needs folds"},
    {WITH_DATA("{\"dataset\":\"a\",\"folds\":5,\"fold\":5}"), "/data/fold",
     "must be below folds, 5, not 5"},
    {WITH_DATA("{\"dataset\":\"a\",\"folds\":5,\"fold\":-1}"), "/data/fold", "from 0 to 99"},
    {WITH_DATA("{\"dataset\":\"a\",\"folds\":5,\"fold\":1.5}"), "/data/fold", "an integer"},
    {WITH_DATA("{\"dataset\":\"a\",\"folds\":100,\"fold\":100}"), "/data/fold", "from 0 to 99"},
    {WITH_DATA("{\"dataset\":\"a\",\"folds\":5,\"fold\":1,\"validation\":0.2}"), "/data/validation",
     "leave the share out"},
    {WITH_DATA("{\"dataset\":\"a\",\"stratify\":1}"), "/data/stratify", "true or false"},
    {WITH_DATA("{\"dataset\":\"a\",\"stratify\":null}"), "/data/stratify", "not null"},
    {WITH_DATA("{\"generator\":\"disk\"}"), "/data/generator", "did you mean \"disc\"?"},
    {WITH_DATA("{\"generator\":3}"), "/data/generator", "the name of a generator"},
    {WITH_DATA("{\"generator\":\"disc\",\"rows\":0}"), "/data/rows", "from 1 to 10000000"},
    {WITH_DATA("{\"generator\":\"disc\",\"rows\":10000001}"), "/data/rows", "from 1 to 10000000"},
    {WITH_DATA("{\"generator\":\"xor\",\"rows\":5}"), "/data/rows", "unknown field"},
    {WITH_DATA("{\"inline\":[]}"), "/data/inline", "must be an object"},
    {WITH_DATA("{\"inline\":{\"y\":[1]}}"), "/data/inline/x", "required"},
    {WITH_DATA("{\"inline\":{\"x\":[[1]]}}"), "/data/inline/y", "required"},
    {WITH_DATA("{\"inline\":{\"x\":[[1]],\"y\":[1],\"z\":1}}"), "/data/inline/z", "unknown"},
    {WITH_DATA("{\"inline\":{\"x\":[],\"y\":[]}}"), "/data/inline/x", "at least one row"},
    {WITH_DATA("{\"inline\":{\"x\":[[]],\"y\":[1]}}"), "/data/inline/x/0", "at least one column"},
    {WITH_DATA("{\"inline\":{\"x\":[1],\"y\":[1]}}"), "/data/inline/x/0", "an array of numbers"},
    {WITH_DATA("{\"inline\":{\"x\":5,\"y\":[1]}}"), "/data/inline/x", "an array of rows"},
    {WITH_DATA("{\"inline\":{\"x\":[[1,2],[3]],\"y\":[1,2]}}"), "/data/inline/x/1",
     "has 1 values, the first row has 2"},
    {WITH_DATA("{\"inline\":{\"x\":[[1,2],[3,\"a\"]],\"y\":[1,2]}}"), "/data/inline/x/1/1",
     "must be a number, not a string"},
    {WITH_DATA("{\"inline\":{\"x\":[[1],[2]],\"y\":[1,null]}}"), "/data/inline/y/1",
     "must be a number, not null"},
    {WITH_DATA("{\"inline\":{\"x\":[[1],[2]],\"y\":[[1],2]}}"), "/data/inline/y/1", "an array"},
    {WITH_DATA("{\"inline\":{\"x\":[[1],[2]],\"y\":[1,[2]]}}"), "/data/inline/y/1", "a number"},
    {WITH_DATA("{\"inline\":{\"x\":[[1],[2]],\"y\":[1]}}"), "/data/inline/y",
     "has 1 rows, x has 2"},
};

START_TEST(faults_are_named) {
  const char *text = refused[_i].text;
  ep_problem problem = {0};
  ep_job_spec *spec = (ep_job_spec *)1;
  ck_assert_int_eq(ep_job_spec_parse(text, strlen(text), &spec, &problem), EP_INVALID);
  ck_assert_ptr_null(spec);
  ck_assert_int_eq(problem.status, EP_INVALID);
  ck_assert_int_ge(problem.errors_count, 1);
  ck_assert_msg(strcmp(problem.errors[0].pointer, refused[_i].pointer) == 0, "%s: at %s", text,
                problem.errors[0].pointer);
  ck_assert_msg(strstr(problem.errors[0].detail, refused[_i].detail) != NULL, "%s: %s", text,
                problem.errors[0].detail);
}
END_TEST

START_TEST(all_faults_are_listed) {
  const char *text = "{\"epoch\":3,\"data\":{\"inline\":{\"x\":[[1],[2,3]],\"y\":[1,2]}},"
                     "\"model\":{\"layers\":[{\"type\":\"linaer\"}]},\"loss\":\"mes\"}";
  static const char *const pointers[] = {"/epoch", "/data/inline/x/1", "/model/layers/0/type",
                                         "/loss", "/epochs"};
  ep_problem problem = {0};
  ep_job_spec *spec;
  ck_assert_int_eq(ep_job_spec_parse(text, strlen(text), &spec, &problem), EP_INVALID);
  ck_assert_int_eq(problem.errors_count, 5);
  for (int i = 0; i < 5; i++) ck_assert_str_eq(problem.errors[i].pointer, pointers[i]);
  ck_assert_str_eq(problem.detail, problem.errors[0].detail);
}
END_TEST

static const struct {
  const char *text, *detail;
  ep_status status;
} unreadable[] = {
    {"", "line 1", EP_MALFORMED},
    {"{", "line 1, column 1", EP_MALFORMED},
    {"{\"epochs\":3,\n,}", "line 2, column 1", EP_MALFORMED},
    {"{\"epochs\":3,\"epochs\":4}", "duplicate", EP_MALFORMED},
    {"{\"name\":\"\xC3\"}", "unable to decode", EP_MALFORMED},
    {"{\"name\":\"a\\u0000b\"}", "u0000", EP_MALFORMED},
    {"{\"epochs\":NaN}", "line 1", EP_MALFORMED},
    {"{} {}", "end of file", EP_MALFORMED},
    {"{\"epochs\":1e999}", "too large", EP_INVALID},
};

START_TEST(what_is_not_json_is_malformed) {
  ep_problem problem = {0};
  ep_job_spec *spec;
  const char *text = unreadable[_i].text;
  ck_assert_int_eq(ep_job_spec_parse(text, strlen(text), &spec, &problem), unreadable[_i].status);
  ck_assert_ptr_null(spec);
  ck_assert_int_eq(problem.status, unreadable[_i].status);
  ck_assert_msg(strstr(problem.detail, unreadable[_i].detail) != NULL, "%s: %s", text,
                problem.detail);
}
END_TEST

#define ROWS(table) (int)(sizeof(table) / sizeof((table)[0]))

EP_SUITE("api/spec faults") {
  TCase *tests = ep_suite_case(suite, "faults");
  tcase_add_loop_test(tests, faults_are_named, 0, ROWS(refused));
  tcase_add_test(tests, all_faults_are_listed);
  tcase_add_loop_test(tests, what_is_not_json_is_malformed, 0, ROWS(unreadable));
}
