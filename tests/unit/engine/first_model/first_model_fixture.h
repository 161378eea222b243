/* first_model_fixture.h: what a job that says "auto" gets, of descriptions of tables. */
#ifndef EP_TESTS_FIRST_MODEL_FIXTURE_H
#define EP_TESTS_FIRST_MODEL_FIXTURE_H

#include <jansson.h>

#include "engine/first_model/first_model.h"
#include "tests/unit/engine/columns/columns_fixture.h"

#define COUNT(array) ((int64_t)(sizeof(array) / sizeof(array)[0]))

extern const char auto_job[]; /* of dataset "t", with nothing given */

/* A column of whole numbers with so many values. A test makes columns anew for each use: what
 * frees the table frees their words. */
ep_column whole_column(const char *name, double min, double max, int64_t distinct);

/* job->job is the caller's (json_decref), as are *job and, where it succeeds, *facts. */
ep_status facts_of(const ep_column *columns, int64_t count, int64_t rows, const char *request,
                   ep_model_facts *facts, ep_automatic_job *job, ep_problem *problem);

/* The spec of a job on a table whose last column is the target: checked, and as JSON. */
json_t *filled(const ep_column *columns, int64_t count, int64_t rows, const char *request);

/* What stands at "a.b.0"; NULL: nothing. */
const json_t *at(const json_t *root, const char *path);
double number_at(const json_t *root, const char *path);
const char *text_at(const json_t *root, const char *path); /* "" for what is no text */
int64_t outputs(const json_t *root);                       /* the width of the last layer */

#endif
