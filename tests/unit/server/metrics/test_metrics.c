#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "server/handlers/routes.h"
#include "server/http/route_metrics.h"
#include "server/metrics/metrics.h"
#include "server/metrics/process.h"
#include "server/metrics/text.h"
#include "tests/suite.h"

static const char *const NO_LABELS[] = {NULL};

static char *take(ep_writer *out) {
  char *text = ep_writer_take(out);
  ck_assert_ptr_nonnull(text);
  return text;
}

START_TEST(samples_are_written_as_prometheus_reads_them) {
  ep_writer out;
  ep_writer_init(&out, 1 << 20);
  ep_metrics_family(&out, "epochd_x", "gauge", "What it is.");
  ep_metrics_sample(&out, "epochd_x", NULL, 0.5);
  ep_metrics_sample(&out, "epochd_x", NO_LABELS, -3);
  ep_metrics_sample(&out, "epochd_x", (const char *[]){"a", "b\"\\\nc", "d", "", NULL}, 1e300);
  ep_metrics_sample(&out, "epochd_x", NULL, (double)INFINITY);
  ep_metrics_sample(&out, "epochd_x", NULL, -(double)INFINITY);
  ep_metrics_sample(&out, "epochd_x", NULL, (double)NAN);
  char *text = take(&out);
  ck_assert_str_eq(text, "# HELP epochd_x What it is.\n"
                         "# TYPE epochd_x gauge\n"
                         "epochd_x 0.5\n"
                         "epochd_x -3\n"
                         "epochd_x{a=\"b\\\"\\\\\\nc\",d=\"\"} 1e+300\n"
                         "epochd_x +Inf\n"
                         "epochd_x -Inf\n"
                         "epochd_x NaN\n");
  free(text);
}
END_TEST

static unsigned long long in_bucket(const ep_histogram *histogram, int bucket) {
  return atomic_load(&histogram->buckets[bucket]);
}

/* A bound belongs to the bucket below it; what is no duration counts as 0. */
START_TEST(durations_fall_between_bounds) {
  ep_histogram histogram = {0};
  const int last = EP_HISTOGRAM_BOUNDS;
  for (int i = 0; i < last; i++) ep_histogram_observe(&histogram, EP_JOB_BOUNDS, EP_JOB_BOUNDS[i]);
  for (int i = 0; i < last; i++) ck_assert_uint_eq(in_bucket(&histogram, i), 1);
  ck_assert_uint_eq(in_bucket(&histogram, last), 0);
  ep_histogram_observe(&histogram, EP_JOB_BOUNDS, 86400.5);
  ep_histogram_observe(&histogram, EP_JOB_BOUNDS, (double)INFINITY);
  ck_assert_uint_eq(in_bucket(&histogram, last), 2);
  unsigned long long sum_us = atomic_load(&histogram.sum_us);
  ep_histogram_observe(&histogram, EP_JOB_BOUNDS, -5);
  ep_histogram_observe(&histogram, EP_JOB_BOUNDS, (double)NAN);
  ck_assert_uint_eq(in_bucket(&histogram, 0), 3);
  ck_assert_uint_eq(atomic_load(&histogram.sum_us), sum_us);
  for (int i = 1; i < last; i++) {
    ck_assert_double_gt(EP_JOB_BOUNDS[i], EP_JOB_BOUNDS[i - 1]);
    ck_assert_double_gt(EP_REQUEST_BOUNDS[i], EP_REQUEST_BOUNDS[i - 1]);
  }
}
END_TEST

START_TEST(histograms_are_cumulative) {
  ep_histogram histogram = {0};
  ep_writer out;
  ep_histogram_observe(&histogram, EP_REQUEST_BOUNDS, 0.0007);
  ep_histogram_observe(&histogram, EP_REQUEST_BOUNDS, 3);
  ep_histogram_observe(&histogram, EP_REQUEST_BOUNDS, 100);
  ep_writer_init(&out, 1 << 20);
  ep_metrics_histogram(&out, "h", (const char *[]){"a", "1", NULL}, EP_REQUEST_BOUNDS, &histogram);
  char *text = take(&out);
  ck_assert_ptr_nonnull(strstr(text, "h_bucket{a=\"1\",le=\"0.0005\"} 0\n"));
  ck_assert_ptr_nonnull(strstr(text, "h_bucket{a=\"1\",le=\"0.001\"} 1\n"));
  ck_assert_ptr_nonnull(strstr(text, "h_bucket{a=\"1\",le=\"2.5\"} 1\n"));
  ck_assert_ptr_nonnull(strstr(text, "h_bucket{a=\"1\",le=\"5\"} 2\n"));
  ck_assert_ptr_nonnull(strstr(text, "h_bucket{a=\"1\",le=\"+Inf\"} 3\n"));
  ck_assert_ptr_nonnull(strstr(text, "h_sum{a=\"1\"} 103.0007\nh_count{a=\"1\"} 3\n"));
  free(text);
}
END_TEST

START_TEST(samples_of_a_training_are_its_pace_times_its_time) {
  atomic_ullong *samples = &EP_METRICS.counters[EP_COUNTER_SAMPLES];
  unsigned long long before = atomic_load(samples);
  ep_metrics_trained(2, 1000);
  ck_assert_uint_eq(atomic_load(samples), before + 2000);
  ep_metrics_trained(0.1, 30); /* 3, though the product is a hair more */
  ck_assert_uint_eq(atomic_load(samples), before + 2003);
  ep_metrics_trained((double)NAN, 1000);
  ep_metrics_trained(0, (double)INFINITY);
  ck_assert_uint_eq(atomic_load(samples), before + 2003);
}
END_TEST

/* Every row by itself; what no row took is one more. */
START_TEST(requests_are_counted_by_row) {
  ck_assert_int_le(EP_ROUTES.count, EP_ROUTE_METRICS_ROWS);
  ep_writer out;
  for (int i = 0; i < EP_ROUTES.count; i++)
    ep_route_metrics_observe(&EP_ROUTES, &EP_ROUTES.rows[i], 201, 1000 * i);
  ep_route_metrics_observe(&EP_ROUTES, NULL, 404, 10);
  ep_route_metrics_observe(&EP_ROUTES, &EP_ROUTES.rows[0], 503, 10);
  ep_route_metrics_observe(&EP_ROUTES, &EP_ROUTES.rows[0], 0,
                           10); /* none that there is: an error of the server's */
  ep_writer_init(&out, 4 << 20);
  ep_route_metrics_format(&EP_ROUTES, &out);
  char *text = take(&out), wanted[256];
  for (int i = 0; i < EP_ROUTES.count; i++) {
    snprintf(wanted, sizeof wanted, "requests_total{route=\"%s\",method=\"%s\",code=\"2xx\"} 1\n",
             EP_ROUTES.rows[i].path, EP_ROUTES.rows[i].method);
    ck_assert_msg(strstr(text, wanted) != NULL, "%s", wanted);
  }
  ck_assert_ptr_nonnull(strstr(text, "{route=\"none\",method=\"any\",code=\"4xx\"} 1\n"));
  snprintf(wanted, sizeof wanted, "{route=\"%s\",method=\"%s\",code=\"5xx\"} 2\n",
           EP_ROUTES.rows[0].path, EP_ROUTES.rows[0].method);
  ck_assert_ptr_nonnull(strstr(text, wanted));
  free(text);
}
END_TEST

static void *count_many(void *unused) {
  (void)unused;
  for (int i = 0; i < 20000; i++) {
    ep_metrics_add(EP_COUNTER_EVENT_LINES, 2);
    ep_histogram_observe(&EP_METRICS.queue_seconds, EP_JOB_BOUNDS, 0.25);
  }
  return NULL;
}

START_TEST(nothing_is_lost_between_threads) {
  pthread_t threads[4];
  unsigned long long before = atomic_load(&EP_METRICS.counters[EP_COUNTER_EVENT_LINES]);
  unsigned long long sum_us = atomic_load(&EP_METRICS.queue_seconds.sum_us);
  for (int i = 0; i < 4; i++)
    ck_assert_int_eq(pthread_create(&threads[i], NULL, count_many, NULL), 0);
  for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
  ck_assert_uint_eq(atomic_load(&EP_METRICS.counters[EP_COUNTER_EVENT_LINES]), before + 160000);
  ck_assert_uint_eq(atomic_load(&EP_METRICS.queue_seconds.sum_us), sum_us + 80000 * 250000ULL);
}
END_TEST

START_TEST(this_process_has_figures) {
  ep_process_metrics own, same;
  ck_assert(ep_process_read(0, &own));
  ck_assert(ep_process_read(getpid(), &same));
  ck_assert_int_gt(own.resident_bytes, 100000);
  ck_assert_int_gt(own.virtual_bytes, own.resident_bytes);
  ck_assert_int_ge(own.threads, 1);
  ck_assert_double_ge(own.cpu_seconds, 0);
  ck_assert_double_lt(fabs(own.start_seconds - same.start_seconds),
                      60); /* by two readings of a clock */
  ck_assert(!ep_process_read(INT32_MAX, &own));
}
END_TEST

EP_SUITE("metrics") {
  TCase *all = ep_suite_case(suite, "all");
  tcase_add_test(all, samples_are_written_as_prometheus_reads_them);
  tcase_add_test(all, durations_fall_between_bounds);
  tcase_add_test(all, histograms_are_cumulative);
  tcase_add_test(all, samples_of_a_training_are_its_pace_times_its_time);
  tcase_add_test(all, requests_are_counted_by_row);
  tcase_add_test(all, nothing_is_lost_between_threads);
  tcase_add_test(all, this_process_has_figures);
}
