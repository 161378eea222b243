/* The job's spec: what is taken, what is refused and where the pointer points. */
#include "api/spec.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define XOR "\"data\":{\"generator\":\"xor\"}"
#define MODEL "\"model\":{\"layers\":[{\"type\":\"linear\",\"out_features\":1}]}"
#define REST "\"loss\":\"mse\",\"epochs\":10"
/* A whole job but for the part that a test is about. */
#define WITH(more) "{" XOR "," MODEL "," REST "," more "}"
#define WITH_DATA(data) "{\"data\":" data "," MODEL "," REST "}"
#define WITH_MODEL(more) \
  "{" XOR ",\"model\":{\"layers\":[{\"type\":\"linear\",\"out_features\":1}]," more "}," REST "}"
#define WITH_LOSS(loss) "{" XOR "," MODEL ",\"epochs\":1,\"loss\":" loss "}"
#define CONV(more) WITH_LAYERS("[{\"type\":\"conv2d\",\"out_channels\":4," more "}]")
#define WITH_LAYERS(layers) "{" XOR ",\"model\":{\"layers\":" layers "}," REST "}"

static const char example[] =
    "{\n"
    "  \"name\": \"house-prices\",\n"
    "  \"data\": {\"dataset\": \"houses\", \"target\": \"price\", \"test\": 0.2, \"validation\": "
    "0.1, "
    "\"standardize\": [\"x\", \"y\"]},\n"
    "  \"model\": {\"layers\": [{\"type\": \"linear\", \"out_features\": 6}, {\"type\": \"relu\"}, "
    "{\"type\": \"linear\", \"out_features\": 1}]},\n"
    "  \"loss\": \"mse\",\n"
    "  \"optimizer\": {\"type\": \"sgd\", \"lr\": 0.005, \"momentum\": 0.0},\n"
    "  \"epochs\": 40000, \"batch_size\": \"full\", \"shuffle\": true, \"seed\": 1,\n"
    "  \"device\": \"auto\", \"precision\": \"fp32\",\n"
    "  \"report_every\": 1000, \"checkpoint\": {\"every_seconds\": 30}\n"
    "}\n";

static ep_job_spec *parse(const char *text) {
  ep_problem problem = {0};
  ep_job_spec *spec;
  ep_status status = ep_job_spec_parse(text, strlen(text), &spec, &problem);
  ck_assert_msg(status == EP_OK, "%s: %s at %s", text, problem.detail, problem.errors[0].pointer);
  ck_assert_ptr_nonnull(spec);
  ck_assert_int_eq(problem.status, EP_OK);
  return spec;
}

START_TEST(the_example_parses) {
  ep_job_spec *spec = parse(example);
  ck_assert_str_eq(spec->name, "house-prices");
  ck_assert_int_eq(spec->data.source, EP_DATA_DATASET);
  ck_assert_str_eq(spec->data.dataset, "houses");
  ck_assert(spec->data.has_target);
  ck_assert_str_eq(spec->data.target, "price");
  ck_assert_double_eq(spec->data.test, 0.2);
  ck_assert_double_eq(spec->data.validation, 0.1);
  ck_assert(spec->data.standardize_x && spec->data.standardize_y);
  ck_assert_int_eq(spec->layers_count, 3);
  ck_assert_int_eq(spec->layers[0].type, EP_LAYER_LINEAR);
  ck_assert_int_eq(spec->layers[0].out_features, 6);
  ck_assert_int_eq(spec->layers[0].in_features, 0);
  ck_assert(spec->layers[0].bias);
  ck_assert_int_eq(spec->layers[1].type, EP_LAYER_RELU);
  ck_assert_int_eq(spec->loss, EP_LOSS_MSE);
  ck_assert_double_eq(spec->optimizer.lr, 0.005);
  ck_assert_int_eq(spec->epochs, 40000);
  ck_assert_int_eq(spec->batch_size, 0);
  ck_assert_int_eq(spec->report_every, 1000);
  ck_assert_double_eq(spec->checkpoint_every_seconds, 30);
  ep_job_spec_destroy(spec);
}
END_TEST

START_TEST(defaults_are_filled_in) {
  ep_job_spec *spec = parse("{" XOR "," MODEL ",\"loss\":\"huber\",\"epochs\":25000}");
  ck_assert_str_eq(spec->name, "");
  ck_assert_int_eq(spec->tags_count, 0);
  ck_assert_int_eq(spec->priority, 0);
  ck_assert_int_eq(spec->data.generator, EP_GENERATOR_XOR);
  ck_assert_uint_eq(spec->data.generator_seed, 1);
  ck_assert_uint_eq(spec->data.split_seed, 1);
  ck_assert(!spec->data.has_target && !spec->data.standardize_x && !spec->data.standardize_y);
  ck_assert_double_eq(spec->data.test, 0);
  ck_assert_double_eq(spec->huber_delta, 1);
  ck_assert_int_eq(spec->optimizer.type, EP_OPTIMIZER_SGD);
  ck_assert_double_eq(spec->optimizer.lr, 0.01);
  ck_assert_double_eq(spec->optimizer.momentum, 0);
  ck_assert(!spec->optimizer.nesterov);
  ck_assert_int_eq(spec->batch_size, 0);
  ck_assert(spec->shuffle);
  ck_assert_uint_eq(spec->seed, 1);
  ck_assert_str_eq(spec->device, "auto");
  ck_assert_str_eq(spec->executor, "");
  ck_assert_int_eq(spec->report_every, 25);
  ck_assert_double_eq(spec->checkpoint_every_seconds, 30);
  ep_job_spec_destroy(spec);
}
END_TEST

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
    {WITH("\"optimizer\":{\"type\":\"sgd\",\"momentun\":0.5}"), "/optimizer/momentun",
     "did you mean \"momentum\"?"},
    {WITH("\"optimizer\":{\"type\":\"adamm\"}"), "/optimizer/type", "did you mean \"adam\"?"},
    {WITH("\"optimizer\":{\"type\":\"sdg\"}"), "/optimizer/type", "did you mean \"sgd\"?"},
    {"{" XOR "," MODEL ",\"epochs\":1,\"loss\":{\"delta\":1}}", "/loss/type",
     "\"type\" is required"},
    {WITH("\"optimizer\":7"), "/optimizer", "an object or a word, not a number"},
    {WITH("\"precision\":\"bf16\""), "/precision", "later release"},
    {WITH("\"precision\":\"tf32\""), "/precision", "later release"},
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
    {WITH("\"checkpoint\":{\"every_seconds\":0}"), "/checkpoint/every_seconds", "above 0"},
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

static const char *const accepted[] = {
    WITH("\"optimizer\":\"sgd\""),
    WITH("\"optimizer\":{\"lr\":0.5}"),
    WITH("\"optimizer\":{\"type\":\"sgd\",\"lr\":0,\"momentum\":1,\"nesterov\":true}"),
    WITH("\"priority\":-100"),
    WITH("\"priority\":100"),
    WITH("\"seed\":0"),
    WITH("\"seed\":9007199254740991"),
    WITH("\"batch_size\":1"),
    WITH("\"batch_size\":2147483648"),
    WITH("\"batch_size\":32.0"),
    WITH("\"device\":\"cuda:0\""),
    WITH("\"device\":\"cuda:9999\",\"executor\":\"cuda/general\""),
    WITH("\"executor\":\"cpu/reference\",\"device\":\"cpu\""),
    WITH("\"executor\":null,\"report_every\":null"),
    WITH("\"report_every\":1000000000"),
    WITH("\"tags\":[\"a\",\"b \\u00fc\"]"),
    WITH("\"checkpoint\":{}"),
    WITH("\"name\":\"\\\"quoted\\\" \\\\ \\u00e9\""),
    "{" XOR "," MODEL ",\"epochs\":1e3,\"loss\":{\"type\":\"huber\",\"delta\":0.3}}",
    "{" XOR "," MODEL ",\"epochs\":1000000000,\"loss\":{\"type\":\"cross_entropy\"}}",
    WITH_LAYERS("[{\"type\":\"linear\",\"in_features\":2,\"out_features\":16777216,\"bias\":false,"
                "\"init\":\"zeros\"},{\"type\":\"leaky_relu\"},{\"type\":\"tanh\"},"
                "{\"type\":\"sigmoid\"},{\"type\":\"gelu\"},{\"type\":\"sin\"},"
                "{\"type\":\"softmax\"},{\"type\":\"log_softmax\"}]"),
    WITH_LAYERS(
        "[{\"type\":\"conv2d\",\"out_channels\":8,\"kernel_size\":[5,3],\"stride\":[2,1],"
        "\"padding\":2,\"dilation\":[1,2],\"groups\":1,\"in_channels\":1,\"bias\":false,"
        "\"init\":\"kaiming\"},{\"type\":\"batch_norm\",\"eps\":1e-3,\"momentum\":0.2,"
        "\"affine\":false},{\"type\":\"elu\",\"alpha\":0.5},{\"type\":\"silu\"},"
        "{\"type\":\"softplus\",\"beta\":2,\"threshold\":10},"
        "{\"type\":\"max_pool2d\",\"kernel_size\":[3,2],\"padding\":[1,0]},"
        "{\"type\":\"avg_pool2d\",\"kernel_size\":2,\"stride\":[1,1]},"
        "{\"type\":\"dropout2d\"},{\"type\":\"residual\",\"layers\":[{\"type\":\"conv2d\","
        "\"out_channels\":8,\"kernel_size\":1},{\"type\":\"residual\",\"layers\":["
        "{\"type\":\"relu\"}]}]},{\"type\":\"adaptive_avg_pool2d\",\"output_size\":[2,1]},"
        "{\"type\":\"flatten\"},{\"type\":\"layer_norm\"},{\"type\":\"dropout\",\"p\":0.25}]"),
    WITH_LAYERS("[{\"type\":\"embedding\",\"num_embeddings\":3,\"embedding_dim\":4}]"),
    WITH_MODEL("\"freeze\":[0],\"init\":{\"job\":\"job_01k\"}"),
    WITH_MODEL("\"freeze\":[],\"init\":{\"weights\":\"resnet\"}"),
    WITH_MODEL("\"init\":null"),
    WITH_LOSS("{\"type\":\"cross_entropy\",\"label_smoothing\":0.1,\"class_weights\":[1,0.5]}"),
    WITH_LOSS("{\"type\":\"nll\",\"class_weights\":null}"),
    WITH("\"optimizer\":\"adam\""),
    WITH("\"optimizer\":{\"type\":\"adamw\",\"betas\":[0.8,0.9],\"decay_all\":false}"),
    WITH("\"optimizer\":{\"type\":\"rmsprop\",\"momentum\":0.9,\"centered\":true}"),
    WITH("\"optimizer\":{\"type\":\"adagrad\",\"lr_decay\":0.1,\"eps\":0}"),
    WITH("\"optimizer\":\"lion\""),
    WITH("\"schedule\":\"cosine\""),
    WITH("\"schedule\":{\"type\":\"cosine\",\"t_max\":3,\"eta_min\":1e-5,\"warmup_epochs\":2}"),
    WITH("\"schedule\":{\"type\":\"step\",\"step_size\":3}"),
    WITH("\"schedule\":{\"type\":\"multi_step\",\"milestones\":[],\"gamma\":0.5}"),
    WITH("\"schedule\":{\"type\":\"multi_step\",\"milestones\":[1,4,9]}"),
    WITH("\"schedule\":{\"type\":\"exponential\",\"gamma\":0.99,\"warmup_factor\":0.1}"),
    WITH("\"schedule\":\"one_cycle\""),
    WITH("\"schedule\":{\"type\":\"one_cycle\",\"max_lr\":0.3},\"optimizer\":{\"lr\":0}"),
    WITH("\"schedule\":{\"type\":\"reduce_on_plateau\",\"patience\":0}"),
    WITH("\"clip\":{\"norm\":1}"),
    WITH("\"clip\":{\"value\":0.5}"),
    WITH("\"clip\":{}"),
    WITH("\"early_stopping\":{\"patience\":5}"),
    WITH("\"early_stopping\":{\"patience\":5,\"metric\":\"validation.error\","
         "\"min_delta\":0.1},\"keep\":\"last\""),
    WITH("\"early_stopping\":null,\"keep\":\"best\""),
    WITH_DATA("{\"path\":\"mnist/..hidden\"}"),
    WITH_DATA("{\"path\":\"/srv/data/mnist\",\"shape\":[1,28,28],\"scale\":0.00392156862745098,"
              "\"normalize\":{\"mean\":0.1307,\"std\":0.3081},"
              "\"augment\":{\"shift\":2,\"flip\":true,\"crop\":[24,20]}}"),
    WITH_DATA("{\"dataset\":\"a\",\"normalize\":{\"mean\":[0.1,0.2,0.3]}}"),
    WITH_DATA("{\"dataset\":\"a\",\"normalize\":{\"std\":[0.1,0.2,0.3]}}"),
    WITH_DATA("{\"dataset\":\"a\",\"normalize\":{},\"augment\":{}}"),
    WITH_DATA("{\"dataset\":\"a.b-c_9\",\"target\":-1}"),
    WITH_DATA("{\"dataset\":\"a\",\"target\":\"3\",\"test\":0.999,\"sha256\":"
              "\"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef\"}"),
    WITH_DATA("{\"generator\":\"disc\",\"rows\":10000000,\"seed\":77,\"standardize\":[\"y\"]}"),
    WITH_DATA("{\"inline\":{\"x\":[[1,2.5],[-1e-300,0.1]],\"y\":[[1,2,3],[4,5,6]]}}"),
    WITH_DATA("{\"inline\":{\"x\":[[0],[1]],\"y\":[0,1]},\"split_seed\":9}"),
    example,
};

/* Whatever was understood is written so that it is understood the same way again. */
START_TEST(round_trips) {
  ep_job_spec *spec = parse(accepted[_i]);
  char *text = ep_job_spec_format(spec);
  ck_assert_ptr_nonnull(text);
  ep_job_spec *again = parse(text);
  char *text_again = ep_job_spec_format(again);
  ck_assert_str_eq(text, text_again);
  /* The fields that are plain memory are the same to the bit. */
  ck_assert_mem_eq(&spec->optimizer.lr, &again->optimizer.lr, sizeof spec->optimizer.lr);
  ck_assert_int_eq(spec->layers_count, again->layers_count);
  ck_assert_int_eq(spec->epochs, again->epochs);
  ck_assert_uint_eq(spec->seed, again->seed);
  ck_assert_str_eq(spec->name, again->name);
  ck_assert_str_eq(spec->data.target, again->data.target);
  free(text);
  free(text_again);
  ep_job_spec_destroy(spec);
  ep_job_spec_destroy(again);
}
END_TEST

START_TEST(the_canonical_text) {
  ep_job_spec *spec = parse("{" XOR "," MODEL "," REST "}");
  char *text = ep_job_spec_format(spec);
  ck_assert_str_eq(
      text,
      "{\"name\":\"\",\"tags\":[],\"priority\":0,\"data\":{\"generator\":\"xor\",\"seed\":1,"
      "\"target\":null,\"test\":0,\"validation\":0,\"split_seed\":1,\"standardize\":[],"
      "\"shape\":null,\"scale\":null,\"normalize\":null,\"augment\":null},"
      "\"model\":{\"layers\":[{\"type\":\"linear\",\"in_features\":null,\"out_features\":1,"
      "\"bias\":true,\"init\":\"default\"}],\"freeze\":[],\"init\":null},\"loss\":\"mse\","
      "\"optimizer\":{\"type\":\"sgd\","
      "\"lr\":0.01,\"momentum\":0,\"nesterov\":false,\"weight_decay\":0,"
      "\"decay_all\":true},\"schedule\":{\"type\":\"constant\",\"warmup_epochs\":0,"
      "\"warmup_factor\":0},\"clip\":null,\"early_stopping\":null,\"keep\":\"last\",\"epochs\":10,"
      "\"batch_size\":\"full\",\"shuffle\":true,\"seed\":1,\"device\":\"auto\",\"executor\":null,"
      "\"precision\":\"fp32\",\"report_every\":1,\"checkpoint\":{\"every_seconds\":30}}");
  free(text);
  ep_job_spec_destroy(spec);
}
END_TEST

START_TEST(each_optimizer_has_its_own_defaults) {
  static const struct {
    const char *type;
    double lr, beta1, beta2, eps, alpha, weight_decay;
  } rows[EP_OPTIMIZER_COUNT] = {
      {"sgd", 0.01, 0, 0, 0, 0, 0},
      {"adam", 0.001, 0.9, 0.999, 1e-8, 0, 0},
      {"adamw", 0.001, 0.9, 0.999, 1e-8, 0, 0.01},
      {"rmsprop", 0.01, 0, 0, 1e-8, 0.99, 0},
      {"adagrad", 0.01, 0, 0, 1e-10, 0, 0},
      {"lion", 1e-4, 0.9, 0.99, 0, 0, 0},
  };
  for (int i = 0; i < EP_OPTIMIZER_COUNT; i++) {
    char text[512];
    snprintf(text, sizeof text, WITH("\"optimizer\":\"%s\""), rows[i].type);
    ep_job_spec *spec = parse(text);
    const ep_optimizer_spec *optimizer = &spec->optimizer;
    ck_assert_str_eq(ep_optimizer_type_name(optimizer->type), rows[i].type);
    ck_assert_double_eq(optimizer->lr, rows[i].lr);
    ck_assert_double_eq(optimizer->beta1, rows[i].beta1);
    ck_assert_double_eq(optimizer->beta2, rows[i].beta2);
    ck_assert_double_eq(optimizer->eps, rows[i].eps);
    ck_assert_double_eq(optimizer->alpha, rows[i].alpha);
    ck_assert_double_eq(optimizer->weight_decay, rows[i].weight_decay);
    ck_assert(optimizer->decay_all);
    ep_job_spec_destroy(spec);
  }
}
END_TEST

START_TEST(defaults_that_stand_elsewhere) {
  ep_job_spec *spec = parse(WITH("\"schedule\":\"cosine\""));
  ck_assert_int_eq(spec->schedule.t_max, 10);
  ep_job_spec_destroy(spec);
  spec = parse(WITH("\"schedule\":\"one_cycle\",\"optimizer\":{\"lr\":0.25}"));
  ck_assert_double_eq(spec->schedule.max_lr, 0.25);
  ck_assert_double_eq(spec->schedule.pct_start, 0.3);
  ck_assert_double_eq(spec->schedule.final_div_factor, 1e4);
  ep_job_spec_destroy(spec);
  spec = parse(WITH("\"early_stopping\":{\"patience\":3}"));
  ck_assert(spec->keep_best && !spec->early_stopping_error);
  ep_job_spec_destroy(spec);
  spec = parse(WITH("\"early_stopping\":{\"patience\":3},\"keep\":\"last\""));
  ck_assert(!spec->keep_best);
  ep_job_spec_destroy(spec);
  spec = parse(WITH_LAYERS("[{\"type\":\"max_pool2d\",\"kernel_size\":[3,2]},"
                           "{\"type\":\"avg_pool2d\",\"kernel_size\":3,\"stride\":1}]"));
  ck_assert_int_eq(spec->layers[0].stride[0], 3);
  ck_assert_int_eq(spec->layers[0].stride[1], 2);
  ck_assert_int_eq(spec->layers[0].dilation[1], 1);
  ck_assert_int_eq(spec->layers[1].stride[0], 1);
  ck_assert_int_eq(spec->layers[1].stride[1], 1);
  ep_job_spec_destroy(spec);
}
END_TEST

START_TEST(figures_of_channels) {
  ep_job_spec *spec =
      parse(WITH_DATA("{\"dataset\":\"a\",\"normalize\":{\"mean\":[1,2],\"std\":4}}"));
  ck_assert(spec->data.normalize);
  ck_assert_int_eq(spec->data.normalize_channels, 2);
  ck_assert_double_eq(spec->data.normalize_mean[1], 2);
  ck_assert_double_eq(spec->data.normalize_std[0], 4);
  ck_assert_double_eq(spec->data.normalize_std[1], 4);
  ck_assert_double_eq(spec->data.scale, 0);
  ep_job_spec_destroy(spec);
  spec = parse(WITH_DATA("{\"dataset\":\"a\",\"normalize\":{\"std\":[3,4]}}"));
  ck_assert_double_eq(spec->data.normalize_mean[1], 0);
  ck_assert_double_eq(spec->data.normalize_std[1], 4);
  ep_job_spec_destroy(spec);
}
END_TEST

START_TEST(blocks_are_nested) {
  ep_job_spec *spec = parse(
      WITH_LAYERS("[{\"type\":\"residual\",\"layers\":[{\"type\":\"relu\"},{\"type\":\"residual\","
                  "\"layers\":[{\"type\":\"tanh\"}]}]},{\"type\":\"linear\",\"out_features\":1}]"));
  ck_assert_int_eq(spec->layers_count, 2);
  ck_assert_int_eq(spec->layers[0].layers_count, 2);
  ck_assert_int_eq(spec->layers[0].layers[1].layers_count, 1);
  ck_assert_int_eq(spec->layers[0].layers[1].layers[0].type, EP_LAYER_TANH);
  ck_assert_int_eq(spec->layers[1].type, EP_LAYER_LINEAR);
  ep_job_spec_destroy(spec);
}
END_TEST

START_TEST(inline_rows_are_row_major) {
  ep_job_spec *spec =
      parse(WITH_DATA("{\"inline\":{\"x\":[[1,2],[3,4],[5,6]],\"y\":[[7],[8],[9]]}}"));
  ck_assert_int_eq(spec->data.inline_rows, 3);
  ck_assert_int_eq(spec->data.inline_columns, 2);
  ck_assert_int_eq(spec->data.inline_targets, 1);
  for (int i = 0; i < 6; i++) ck_assert_double_eq(spec->data.inline_x[i], i + 1);
  for (int i = 0; i < 3; i++) ck_assert_double_eq(spec->data.inline_y[i], i + 7);
  ep_job_spec_destroy(spec);
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
    {"{\"epochs\":99999999999999999999}", "too large", EP_INVALID},
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

START_TEST(dataset_names) {
  ck_assert(ep_dataset_name_valid("a"));
  ck_assert(ep_dataset_name_valid("0.x-y_Z"));
  ck_assert(!ep_dataset_name_valid(""));
  ck_assert(!ep_dataset_name_valid("-a"));
  ck_assert(!ep_dataset_name_valid("a b"));
  ck_assert(!ep_dataset_name_valid("a\xC3\xA9"));
  ck_assert(!ep_dataset_name_valid("a/../b"));
}
END_TEST

START_TEST(destroying_nothing_is_allowed) {
  ep_job_spec_destroy(NULL);
}
END_TEST

#define ROWS(table) (int)(sizeof(table) / sizeof((table)[0]))

int main(void) {
  Suite *suite = suite_create("api/spec");
  TCase *tests = tcase_create("spec");
  tcase_add_test(tests, the_example_parses);
  tcase_add_test(tests, defaults_are_filled_in);
  tcase_add_loop_test(tests, faults_are_named, 0, ROWS(refused));
  tcase_add_loop_test(tests, round_trips, 0, ROWS(accepted));
  tcase_add_test(tests, the_canonical_text);
  tcase_add_test(tests, each_optimizer_has_its_own_defaults);
  tcase_add_test(tests, defaults_that_stand_elsewhere);
  tcase_add_test(tests, figures_of_channels);
  tcase_add_test(tests, blocks_are_nested);
  tcase_add_test(tests, inline_rows_are_row_major);
  tcase_add_test(tests, all_faults_are_listed);
  tcase_add_loop_test(tests, what_is_not_json_is_malformed, 0, ROWS(unreadable));
  tcase_add_test(tests, dataset_names);
  tcase_add_test(tests, destroying_nothing_is_allowed);
  suite_add_tcase(suite, tests);
  SRunner *runner = srunner_create(suite);
  srunner_run_all(runner, CK_ENV);
  int failed = srunner_ntests_failed(runner);
  srunner_free(runner);
  return failed != 0;
}
