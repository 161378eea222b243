/* The job's spec: what is taken, with which defaults, and written again. */
#include "api/spec/spec.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/spec/tables.h"
#include "tests/suite.h"
#include "tests/unit/api/spec/spec_texts.h"

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
  ck_assert_int_eq(spec->data.target_by, EP_TARGET_NAME);
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
  ck_assert(spec->data.target_by == EP_TARGET_LAST && !spec->data.standardize_x &&
            !spec->data.standardize_y);
  ck_assert_double_eq(spec->data.test, 0);
  ck_assert_double_eq(spec->loss_parameter, 1);
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
    WITH("\"device\":\"slurm:gpu_a-1.x\""),
    WITH("\"device\":\"kubernetes:team-a1\""),
    WITH("\"device\":\"slurm:g\",\"slurm\":{\"time\":\"1-12:30\",\"account\":\"lab\",\"qos\":\"q\","
         "\"gres\":\"gpu:a100:2\",\"constraint\":\"[rack1|rack2]&nvlink\"}"),
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
    WITH_DATA("{\"dataset\":\"a\",\"columns\":{\"a \\\"b\\\"\":{\"type\":\"category\"},"
              "\"*_at\":{\"missing\":{\"value\":-1.5},\"indicator\":true,\"scale\":\"log1p\"},"
              "\"c\":{\"missing\":\"mean\",\"encode\":\"ordinal\",\"indicator\":false}},"
              "\"features\":[\"a*\",\"b\"],\"exclude\":[\"ab\"]}"),
    WITH_DATA("{\"path\":\"a\",\"columns\":{},\"features\":null,\"exclude\":null}"),
    WITH_DATA("{\"dataset\":\"a.b-c_9\",\"target\":-1}"),
    WITH_DATA("{\"dataset\":\"a\",\"positive\":\"very likely\"}"),
    WITH_DATA("{\"dataset\":\"a\",\"positive\":true}"),
    WITH_DATA("{\"dataset\":\"a\",\"positive\":1}"),
    WITH_DATA("{\"dataset\":\"a\",\"target\":\"3\",\"test\":0.999,\"sha256\":"
              "\"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef\"}"),
    WITH_DATA("{\"generator\":\"disc\",\"rows\":10000000,\"seed\":77,\"standardize\":[\"y\"]}"),
    WITH_DATA("{\"inline\":{\"x\":[[1,2.5],[-1e-300,0.1]],\"y\":[[1,2,3],[4,5,6]]}}"),
    WITH_DATA("{\"inline\":{\"x\":[[0],[1]],\"y\":[0,1]},\"split_seed\":9}"),
    WITH_DATA("{\"dataset\":\"a\",\"folds\":2,\"fold\":0}"),
    WITH_DATA("{\"dataset\":\"a\",\"folds\":100,\"fold\":99,\"stratify\":true,\"test\":0.2}"),
    WITH_DATA("{\"dataset\":\"a\",\"folds\":null,\"fold\":null,\"stratify\":true}"),
    example,
};

/* Whatever was understood is written so that it is understood the same way again. */
/* A number is an index, a string a name, and both stay what they are. Digits in quotes that were
 * stored may be either. */
START_TEST(targets_are_numbers_or_names) {
  static const struct {
    const char *target;
    ep_target_by requested, stored;
    int64_t index;
    const char *name;
  } rows[] = {{"0", EP_TARGET_INDEX, EP_TARGET_INDEX, 0, ""},
              {"-1", EP_TARGET_INDEX, EP_TARGET_INDEX, -1, ""},
              {"\"0\"", EP_TARGET_NAME, EP_TARGET_EITHER, 0, "0"},
              {"\"-2\"", EP_TARGET_NAME, EP_TARGET_EITHER, -2, "-2"},
              {"\"2nd\"", EP_TARGET_NAME, EP_TARGET_NAME, 0, "2nd"},
              {"null", EP_TARGET_LAST, EP_TARGET_LAST, 0, ""}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    char text[512], written[64];
    ep_problem problem = {0};
    ep_job_spec *spec;
    snprintf(text, sizeof text,
             "{\"data\":{\"dataset\":\"d\",\"target\":%s}," MODEL ",\"loss\":\"mse\",\"epochs\":1}",
             rows[i].target);
    snprintf(written, sizeof written, "\"target\":%s,", rows[i].target);
    for (int stored = 0; stored < 2; stored++) {
      ck_assert_int_eq(stored ? ep_job_spec_load(text, strlen(text), &spec, NULL)
                              : ep_job_spec_parse(text, strlen(text), &spec, &problem),
                       EP_OK);
      ck_assert_int_eq(spec->data.target_by, stored ? rows[i].stored : rows[i].requested);
      ck_assert_str_eq(spec->data.target, rows[i].name);
      if (spec->data.target_by == EP_TARGET_INDEX || spec->data.target_by == EP_TARGET_EITHER)
        ck_assert_int_eq(spec->data.target_index, rows[i].index);
      char *again = ep_job_spec_format(spec);
      ck_assert_ptr_nonnull(strstr(again, written));
      free(again);
      ep_job_spec_destroy(spec);
    }
  }
}
END_TEST

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
  ck_assert_str_eq(spec->data.positive, again->data.positive);
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
      "{\"name\":\"\",\"tags\":[],\"notes\":null,\"priority\":0,\"pinned\":false,\"visibility\":"
      "\"public\","
      "\"data\":{\"generator\":\"xor\","
      "\"seed\":1,"
      "\"target\":null,\"positive\":null,\"task\":\"auto\",\"test\":0,\"validation\":0,\"folds\":"
      "null,\"fold\":null,"
      "\"stratify\":false,\"split_seed\":1,\"standardize\":[],"
      "\"shape\":null,\"scale\":null,\"normalize\":null,\"augment\":null},"
      "\"model\":{\"layers\":[{\"type\":\"linear\",\"in_features\":null,\"out_features\":1,"
      "\"bias\":true,\"init\":\"default\"}],\"freeze\":[],\"init\":null},\"loss\":\"mse\","
      "\"optimizer\":{\"type\":\"sgd\","
      "\"lr\":0.01,\"momentum\":0,\"nesterov\":false,\"weight_decay\":0,"
      "\"decay_all\":true},\"schedule\":{\"type\":\"constant\",\"warmup_epochs\":0,"
      "\"warmup_factor\":0},\"clip\":null,\"early_stopping\":null,\"keep\":\"last\",\"epochs\":10,"
      "\"batch_size\":\"full\",\"shuffle\":true,\"seed\":1,\"repeats\":1,\"folds\":null,"
      "\"stratify\":false,\"device\":\"auto\",\"slurm\":null,\"executor\":null,"
      "\"parallel\":null,\"precision\":\"fp32\",\"find\":null,\"report_every\":1,\"report_"
      "batches\":null,"
      "\"report\":{\"layers\":false},\"timelapse_every\":null,\"validation_metrics\":[],\"ttl_"
      "seconds\":null,"
      "\"webhooks\":[],"
      "\"checkpoint\":{\"every_"
      "seconds\":30,\"keep\":0},\"max_seconds\":null}");
  free(text);
  ep_job_spec_destroy(spec);
}
END_TEST

/* A client may use the name that an executor had; the spec has the present one. */
START_TEST(a_former_name_of_an_executor_is_replaced) {
  ep_job_spec *spec = parse(WITH("\"executor\":\"cuda/graph\",\"device\":\"cuda\""));
  ck_assert_str_eq(spec->executor, "cuda/cnn");
  ep_job_spec_destroy(spec);
}
END_TEST

START_TEST(each_optimizer_has_its_own_defaults) {
  static const struct {
    const char *type;
    double lr, beta1, beta2, eps, alpha, weight_decay, decay;
  } rows[EP_OPTIMIZER_COUNT] = {
      {"sgd", 0.01, 0, 0, 0, 0, 0, 0},
      {"adam", 0.001, 0.9, 0.999, 1e-8, 0, 0, 0},
      {"adamw", 0.001, 0.9, 0.999, 1e-8, 0, 0.01, 0},
      {"rmsprop", 0.01, 0, 0, 1e-8, 0.99, 0, 0},
      {"adagrad", 0.01, 0, 0, 1e-10, 0, 0, 0},
      {"lion", 1e-4, 0.9, 0.99, 0, 0, 0, 0},
      {"nadam", 0.002, 0.9, 0.999, 1e-8, 0, 0, 0.004},
      {"adamax", 0.002, 0.9, 0.999, 1e-8, 0, 0, 0},
  };
  for (int i = 0; i < EP_OPTIMIZER_COUNT; i++) {
    char text[512];
    ck_assert_msg(rows[i].type != NULL, "%s has no row", ep_optimizer_type_name(i));
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
    ck_assert_double_eq(optimizer->decay, rows[i].decay);
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
  ck_assert(spec->keep_best && spec->early_stopping_metric == EP_METRIC_LOSS);
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

START_TEST(classes_keep_their_shares_unless_the_spec_says_otherwise) {
  static const struct {
    const char *data, *loss;
    bool stratify;
  } rows[] = {
      {"\"test\":0.2", "cross_entropy", true},
      {"\"validation\":0.1", "nll", true},
      {"\"test\":0.2,\"stratify\":false", "cross_entropy", false},
      {"\"test\":0.2", "bce_with_logits", false},
      {"\"test\":0.2", "mse", false},
      {"\"test\":0", "cross_entropy", false},
      {"\"test\":0.2,\"folds\":3,\"fold\":0", "cross_entropy", false},
      {"\"test\":0.2,\"time\":\"day\"", "cross_entropy", false},
      {"\"test\":0.2,\"group\":\"person\"", "cross_entropy", false},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    char text[512];
    snprintf(text, sizeof text,
             "{\"data\":{\"dataset\":\"a\",%s},\"model\":{\"layers\":[{\"type\":\"linear\","
             "\"out_features\":2}]},\"loss\":\"%s\",\"epochs\":1}",
             rows[i].data, rows[i].loss);
    ep_job_spec *spec = parse(text);
    ck_assert_msg(spec->data.stratify == rows[i].stratify, "%s of %s", rows[i].data, rows[i].loss);
    ep_job_spec_destroy(spec);
  }
}
END_TEST

START_TEST(a_fold_is_kept) {
  static const struct {
    const char *text, *written;
    int64_t folds, fold;
  } rows[] = {
      {WITH_DATA("{\"dataset\":\"a\",\"folds\":5,\"fold\":0}"),
       "\"folds\":5,\"fold\":0,\"stratify\":false", 5, 0},
      {WITH_DATA("{\"dataset\":\"a\",\"fold\":4,\"folds\":5,\"stratify\":true}"),
       "\"folds\":5,\"fold\":4,\"stratify\":true", 5, 4},
      {WITH_DATA("{\"dataset\":\"a\",\"folds\":5,\"fold\":2,\"validation\":0}"),
       "\"validation\":0,\"folds\":5,\"fold\":2,", 5, 2},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    ep_job_spec *spec = parse(rows[i].text);
    ck_assert_int_eq(spec->data.folds, rows[i].folds);
    ck_assert_int_eq(spec->data.fold, rows[i].fold);
    char *text = ep_job_spec_format(spec);
    ck_assert_ptr_nonnull(strstr(text, rows[i].written));
    free(text);
    ep_job_spec_destroy(spec);
  }
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

/* What follows from stages, what "auto" is, and that no more than one rank is written as null. */
START_TEST(several_ranks) {
  static const struct {
    const char *text, *written;
    int data, model, micro_batches;
  } rows[] = {
      {PARALLEL("null"), "null", 1, 1, 0},
      {PARALLEL("{}"), "null", 1, 1, 0},
      {PARALLEL("{\"data\":1,\"model\":1,\"micro_batches\":1}"), "null", 1, 1, 1},
      {PARALLEL("{\"data\":4}"),
       "{\"data\":4,\"model\":1,\"stages\":null,\"micro_batches\":null,\"elastic\":false}", 4, 1,
       0},
      {PARALLEL("{\"data\":\"auto\"}"),
       "{\"data\":\"auto\",\"model\":1,\"stages\":null,\"micro_batches\":null,\"elastic\":false}",
       1, 1, 0},
      {PARALLEL("{\"stages\":[[0,1],[2,2]],\"micro_batches\":3,\"data\":32}"),
       "{\"data\":32,\"model\":2,\"stages\":[[0,1],[2,2]],\"micro_batches\":3,\"elastic\":false}",
       32, 2, 3},
      {PARALLEL("{\"model\":64,\"micro_batches\":1024}"),
       "{\"data\":1,\"model\":64,\"stages\":null,\"micro_batches\":1024,\"elastic\":false}", 1, 64,
       1024},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    char wanted[256];
    ep_job_spec *spec = parse(rows[i].text);
    ck_assert_int_eq(spec->parallel.data, rows[i].data);
    ck_assert_int_eq(spec->parallel.model, rows[i].model);
    ck_assert_int_eq(spec->parallel.micro_batches, rows[i].micro_batches);
    char *text = ep_job_spec_format(spec);
    snprintf(wanted, sizeof wanted, "\"parallel\":%s", rows[i].written);
    ck_assert_msg(strstr(text, wanted) != NULL, "%s lacks %s", text, wanted);
    ep_job_spec *again = parse(text);
    char *text_again = ep_job_spec_format(again);
    ck_assert_str_eq(text, text_again);
    free(text_again);
    free(text);
    ep_job_spec_destroy(again);
    ep_job_spec_destroy(spec);
  }
}
END_TEST

START_TEST(dataset_names) {
  ck_assert(ep_dataset_accepts("a"));
  ck_assert(ep_dataset_accepts("0.x-y_Z"));
  ck_assert(!ep_dataset_accepts(""));
  ck_assert(!ep_dataset_accepts("-a"));
  ck_assert(!ep_dataset_accepts("a b"));
  ck_assert(!ep_dataset_accepts("a\xC3\xA9"));
  ck_assert(!ep_dataset_accepts("a/../b"));
}
END_TEST

START_TEST(destroying_nothing_is_allowed) {
  ep_job_spec_destroy(NULL);
}
END_TEST

#define ROWS(table) (int)(sizeof(table) / sizeof((table)[0]))

EP_SUITE("api/spec") {
  TCase *tests = ep_suite_case(suite, "spec");
  tcase_add_test(tests, the_example_parses);
  tcase_add_test(tests, defaults_are_filled_in);
  tcase_add_test(tests, targets_are_numbers_or_names);
  tcase_add_loop_test(tests, round_trips, 0, ROWS(accepted));
  tcase_add_test(tests, the_canonical_text);
  tcase_add_test(tests, a_former_name_of_an_executor_is_replaced);
  tcase_add_test(tests, each_optimizer_has_its_own_defaults);
  tcase_add_test(tests, defaults_that_stand_elsewhere);
  tcase_add_test(tests, classes_keep_their_shares_unless_the_spec_says_otherwise);
  tcase_add_test(tests, a_fold_is_kept);
  tcase_add_test(tests, figures_of_channels);
  tcase_add_test(tests, blocks_are_nested);
  tcase_add_test(tests, inline_rows_are_row_major);
  tcase_add_test(tests, several_ranks);
  tcase_add_test(tests, dataset_names);
  tcase_add_test(tests, destroying_nothing_is_allowed);
}
