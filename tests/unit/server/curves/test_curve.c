#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "api/responses/curve.h"
#include "server/curves/curve.h"
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
  ck_assert_int_eq(ep_curve_thin(points, 5, 5), 5);
  ck_assert_int_eq(ep_curve_thin(points, 5, 100), 5);
  ck_assert_int_eq(ep_curve_thin(points, 0, 2), 0);
  ck_assert_int_eq(ep_curve_thin(points, 1, 2), 1);
  free(points);
}
END_TEST

/* For every size and count: as many as asked for, the ends kept, in order, none twice. */
START_TEST(thinned_curves_keep_order_and_ends) {
  for (int64_t count = 3; count <= 67; count++)
    for (int64_t wanted = 2; wanted < count; wanted++) {
      ep_curve_point *points = line(count);
      for (int64_t i = 0; i < count; i++) points[i].loss = sin((double)i);
      ck_assert_int_eq(ep_curve_thin(points, count, wanted), wanted);
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
  ck_assert_int_eq(ep_curve_thin(points, 1000, 20), 20);
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
  ck_assert_int_eq(ep_curve_thin(points, 5, 3), 3);
  ck_assert_int_eq(points[1].epoch, 2);
}
END_TEST

START_TEST(a_log_is_read) {
  char folder[] = "/tmp/epochd-curve-XXXXXX";
  ck_assert_ptr_nonnull(mkdtemp(folder));
  ep_jobs *jobs = fake_jobs_create(folder);
  for (int i = 0; i < 5; i++) fake_jobs_epochs(jobs, 1 + i * 1000, 1, 1000);
  fake_jobs_end(jobs);
  ep_event_log *log;
  ep_curve_point *points;
  int64_t count;
  ck_assert_int_eq(ep_jobs_retain_log(jobs, FAKE_JOB, &log, NULL), EP_OK);
  ck_assert_int_eq(ep_curve_read(log, 100000, &points, &count, NULL), EP_OK);
  ck_assert_int_eq(count, 5000);
  ck_assert_int_eq(points[4999].epoch, 5000);
  ck_assert_double_eq(points[1].loss, 0.5);
  ck_assert(isnan(points[0].validation_loss) || points[0].validation_loss == 0);
  free(points);
  ck_assert_int_eq(ep_curve_read(log, 10, &points, &count, NULL), EP_OK);
  ck_assert_int_eq(count, 10);
  free(points);
  ep_jobs_release_log(jobs, log);
  fake_jobs_destroy(jobs);
}
END_TEST

EP_SUITE("curve") {
  TCase *all = ep_suite_case(suite, "all");
  tcase_add_test(all, short_curves_stay);
  tcase_add_test(all, thinned_curves_keep_order_and_ends);
  tcase_add_test(all, spikes_and_infinities_survive);
  tcase_add_test(all, the_largest_triangle_wins);
  tcase_add_test(all, a_log_is_read);
}
