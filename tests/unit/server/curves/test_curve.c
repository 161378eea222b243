#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "api/limits.h"
#include "api/responses/curve.h"
#include "server/curves/curves.h"
#include "tests/suite.h"
#include "tests/unit/server/fake_jobs.h"

static ep_curve_point *line(int64_t count) {
  ep_curve_point *points = calloc((size_t)count, sizeof *points);
  ck_assert_ptr_nonnull(points);
  for (int64_t i = 0; i < count; i++) points[i] = (ep_curve_point){.epoch = i + 1, .loss = 1};
  return points;
}

START_TEST(short_curves_stay) {
  ep_curve_point *points = line(5);
  ck_assert_int_eq(ep_curve_thin(points, 5, 5, points), 5);
  ck_assert_int_eq(ep_curve_thin(points, 5, 100, points), 5);
  ck_assert_int_eq(ep_curve_thin(points, 0, 2, points), 0);
  ck_assert_int_eq(ep_curve_thin(points, 1, 2, points), 1);
  free(points);
}
END_TEST

/* For every size and count: as many as asked for, the ends kept, in order, none twice. */
START_TEST(thinned_curves_keep_order_and_ends) {
  for (int64_t count = 3; count <= 67; count++)
    for (int64_t wanted = 2; wanted < count; wanted++) {
      ep_curve_point *points = line(count);
      for (int64_t i = 0; i < count; i++) points[i].loss = sin((double)i);
      ck_assert_int_eq(ep_curve_thin(points, count, wanted, points), wanted);
      ck_assert_int_eq(points[0].epoch, 1);
      ck_assert_int_eq(points[wanted - 1].epoch, count);
      for (int64_t i = 1; i < wanted; i++) ck_assert_int_gt(points[i].epoch, points[i - 1].epoch);
      free(points);
    }
}
END_TEST

START_TEST(spikes_and_infinities_survive) {
  ep_curve_point *points = line(1000);
  points[437].loss = 50;
  points[777].loss = (double)NAN;
  ck_assert_int_eq(ep_curve_thin(points, 1000, 20, points), 20);
  int spikes = 0, infinities = 0;
  for (int i = 0; i < 20; i++) {
    spikes += points[i].loss == 50;
    infinities += isnan(points[i].loss);
  }
  ck_assert_int_eq(spikes, 1);
  ck_assert_int_eq(infinities, 1);
  free(points);
}
END_TEST

/* The area by hand: of three candidates the one furthest from the chord. */
START_TEST(the_largest_triangle_wins) {
  ep_curve_point points[] = {{.epoch = 0, .loss = 0},
                             {.epoch = 1, .loss = 1},
                             {.epoch = 2, .loss = -3},
                             {.epoch = 3, .loss = 2},
                             {.epoch = 4, .loss = 0}};
  ck_assert_int_eq(ep_curve_thin(points, 5, 3, points), 3);
  ck_assert_int_eq(points[1].epoch, 2);
}
END_TEST

/* Jobs in a folder of their own, with 5000 epochs, and their log, retained. */
static ep_jobs *jobs_start(ep_event_log **log) {
  char folder[] = "/tmp/epochd-curve-XXXXXX";
  ck_assert_ptr_nonnull(mkdtemp(folder));
  ep_jobs *jobs = fake_jobs_create(folder);
  for (int i = 0; i < 5; i++) fake_jobs_epochs(jobs, 1 + i * 1000, 1, 1000);
  ck_assert_int_eq(ep_jobs_retain_log(jobs, FAKE_JOB, log, NULL), EP_OK);
  return jobs;
}

static void jobs_stop(ep_jobs *jobs, ep_event_log *log) {
  ep_jobs_release_log(jobs, log);
  fake_jobs_destroy(jobs);
}

/* As often as *context says the answer is no. */
static bool stop_later(void *context) {
  int *left = context;
  return --*left < 0;
}

START_TEST(a_log_is_read) {
  ep_event_log *log;
  ep_jobs *jobs = jobs_start(&log);
  fake_jobs_end(jobs);
  ep_curve curve = {0};
  ck_assert_int_eq(ep_curve_read(&curve, log, NULL, NULL, NULL), EP_OK);
  ck_assert(curve.ended);
  ck_assert_int_eq(curve.count, 5000);
  ck_assert_int_eq(curve.points[4999].epoch, 5000);
  ck_assert_double_eq(curve.points[1].loss, 0.5);
  ck_assert(isnan(curve.points[0].validation_loss) || curve.points[0].validation_loss == 0);
  ep_curve_point few[10];
  ck_assert_int_eq(ep_curve_thin(curve.points, curve.count, 10, few), 10);
  ck_assert_int_eq(few[9].epoch, 5000);
  ck_assert_int_eq(curve.points[9].epoch, 10); /* it stays as it is */
  ep_curve_deinit(&curve);
  jobs_stop(jobs, log);
}
END_TEST

/* Beyond a million points, however it is cut into pieces: the same points. */
START_TEST(what_is_read_in_pieces_is_the_same) {
  ep_event_log *log;
  ep_jobs *jobs = jobs_start(&log);
  ep_curve once = {0}, pieces = {0};
  for (int i = 0; i < 120; i++) {
    fake_jobs_epochs(jobs, 5001 + i * 10000, 1, 10000);
    if (i % 17 == 0) ck_assert_int_eq(ep_curve_read(&pieces, log, NULL, NULL, NULL), EP_OK);
    if (i % 17 == 8) {
      ep_error error;
      int looks = i / 17;
      ck_assert_int_eq(ep_curve_read(&pieces, log, stop_later, &looks, &error), EP_CANCELLED);
    }
  }
  fake_jobs_end(jobs);
  ck_assert_int_eq(ep_curve_read(&pieces, log, NULL, NULL, NULL), EP_OK);
  ck_assert_int_eq(ep_curve_read(&once, log, NULL, NULL, NULL), EP_OK);
  ck_assert_int_lt(once.count, 1 << 20);
  ck_assert_int_eq(once.count, pieces.count);
  ck_assert_mem_eq(once.points, pieces.points, (size_t)once.count * sizeof *once.points);
  ck_assert_int_eq(once.points[once.count - 1].epoch, 1205000);
  ep_curve_deinit(&once);
  ep_curve_deinit(&pieces);
  jobs_stop(jobs, log);
}
END_TEST

/* A log that was damaged, and cut below what was read of it, is read anew. */
START_TEST(a_log_that_was_cut_is_read_anew) {
  ep_event_log *log;
  ep_jobs *jobs = jobs_start(&log);
  ep_curve curve = {.offset = 1 << 30, .count = 0};
  ck_assert_int_eq(ep_curve_read(&curve, log, NULL, NULL, NULL), EP_OK);
  ck_assert_int_eq(curve.count, 5000);
  curve.offset -= 5; /* a line does not begin there */
  fake_jobs_epochs(jobs, 5001, 1, 1);
  ck_assert_int_eq(ep_curve_read(&curve, log, NULL, NULL, NULL), EP_IO);
  ck_assert_int_eq(ep_curve_read(&curve, log, NULL, NULL, NULL), EP_OK);
  ck_assert_int_eq(curve.count, 5001);
  ep_curve_deinit(&curve);
  jobs_stop(jobs, log);
}
END_TEST

static ep_curve *taken(ep_curves *curves, const char *id) {
  ep_curve *curve;
  ck_assert_int_eq(ep_curves_take(curves, id, NULL, NULL, &curve, NULL), EP_OK);
  return curve;
}

/* Gives back a curve of so many bytes of a log, whose points take so many. */
static void give(ep_curves *curves, const char *id, int64_t log_bytes, int64_t points_bytes) {
  ep_curve *curve = taken(curves, id);
  curve->offset = log_bytes;
  curve->capacity = points_bytes / (int64_t)sizeof *curve->points;
  ep_curves_give(curves, curve);
}

START_TEST(curves_are_held_up_to_a_ceiling) {
  static const int64_t LONG = 1 << 20, HALF = EP_LIMIT_CURVES_BYTES / 2;
  ep_curves curves;
  ep_curves_init(&curves);
  give(&curves, "short", LONG - 1, 1000);
  give(&curves, "a", LONG, HALF);
  give(&curves, "b", LONG, HALF);
  give(&curves, "a", LONG, HALF);
  static const struct {
    const char *id;
    int64_t offset;
  } EXPECTED[] = {{"short", 0}, {"a", LONG}, {"b", LONG}};
  for (size_t i = 0; i < sizeof EXPECTED / sizeof *EXPECTED; i++) {
    ep_curve *curve = taken(&curves, EXPECTED[i].id);
    ck_assert_msg(curve->offset == EXPECTED[i].offset, "%s", EXPECTED[i].id);
    ep_curves_give(&curves, curve);
  }
  give(&curves, "c", LONG, HALF); /* "a" was given back longest ago */
  ep_curve *gone = taken(&curves, "a"), *held = taken(&curves, "b");
  ck_assert_int_eq(gone->offset, 0);
  ck_assert_int_eq(held->offset, LONG);
  ep_curves_give(&curves, gone);
  ep_curves_give(&curves, held);
  ep_curves_deinit(&curves);
}
END_TEST

START_TEST(large_curves_expire) {
  static const int64_t LONG = 1 << 20, LARGE = EP_LIMIT_SMALL_CACHED_BYTES * 2;
  ep_curves curves;
  ep_curves_init(&curves);
  give(&curves, "small", LONG, 1000);
  give(&curves, "large", LONG, LARGE);
  ck_assert_int_ge(ep_curves_bytes(&curves), LARGE);
  ep_curves_expire(&curves, 3600);
  ck_assert_int_ge(ep_curves_bytes(&curves), LARGE);
  ep_curves_expire(&curves, -1);
  ck_assert_int_lt(ep_curves_bytes(&curves), 1001);
  ck_assert_str_eq(curves.first->id, "small");
  ep_curves_deinit(&curves);
}
END_TEST

/* Where memory is little, a curve has fewer points. */
START_TEST(a_curve_fits_its_share) {
  ep_curves curves;
  ep_curves_init(&curves);
  curves.most_bytes = 16 << 20;
  ep_curve *curve = taken(&curves, "a");
  ck_assert_int_le(curve->most * (int64_t)sizeof *curve->points, curves.most_bytes);
  ck_assert_int_ge(curve->most, EP_LIMIT_CURVE_POINTS);
  ep_curve_deinit(curve);
  ck_assert_int_gt(curve->most, 0);
  ep_curves_give(&curves, curve);
  ep_curves_deinit(&curves);
}
END_TEST

/* While another has the curve: waits, and stops waiting when told to. */
START_TEST(a_curve_has_one_user) {
  ep_curves curves;
  ep_curves_init(&curves);
  ep_curve *curve = taken(&curves, "a"), *second;
  int looks = 2;
  ep_error error;
  ck_assert_int_eq(ep_curves_take(&curves, "a", stop_later, &looks, &second, &error), EP_CANCELLED);
  ck_assert_int_eq(looks, -1);
  ep_curves_give(&curves, curve);
  ep_curves_give(&curves, taken(&curves, "a"));
  ck_assert_ptr_null(curves.first); /* it was short */
  ep_curves_deinit(&curves);
}
END_TEST

EP_SUITE("curve") {
  TCase *all = ep_suite_case(suite, "all");
  tcase_set_timeout(all, 120); /* a million lines under a sanitizer */
  tcase_add_test(all, short_curves_stay);
  tcase_add_test(all, thinned_curves_keep_order_and_ends);
  tcase_add_test(all, spikes_and_infinities_survive);
  tcase_add_test(all, the_largest_triangle_wins);
  tcase_add_test(all, a_log_is_read);
  tcase_add_test(all, what_is_read_in_pieces_is_the_same);
  tcase_add_test(all, a_log_that_was_cut_is_read_anew);
  tcase_add_test(all, curves_are_held_up_to_a_ceiling);
  tcase_add_test(all, large_curves_expire);
  tcase_add_test(all, a_curve_fits_its_share);
  tcase_add_test(all, a_curve_has_one_user);
}
