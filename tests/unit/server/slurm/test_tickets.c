/* Tickets of workers: a secret is good once, what is refused is counted, and the gateway after this
 * one has them all. */
#include "server/slurm/gateway/tickets.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api/hash/sha256.h"
#include "tests/suite.h"
#include "tests/unit/server/scratch.h"

static ep_gateway_setup config;
static ep_tickets tickets, later;
static const ep_slurm_request REQUEST = {.partition = "gpu",
                                         .qos = "long",
                                         .gres = "gpu:a100:1",
                                         .cpus = 3,
                                         .memory_bytes = INT64_C(5) << 30,
                                         .minutes = 90};

static void setup(void) {
  char path[sizeof config.data_dir + 16];
  scratch_open();
  snprintf(config.data_dir, sizeof config.data_dir, "%s", scratch_dir);
  memcpy(config.shared_dir, config.data_dir, sizeof config.shared_dir);
  snprintf(path, sizeof path, "%s/slurm", config.data_dir);
  ck_assert_int_eq(mkdir(path, 0700), 0);
  ck_assert_int_eq(ep_sha256_prepare(NULL), EP_OK);
  ck_assert_int_eq(ep_tickets_open(&tickets, &config, NULL), EP_OK);
}

static void teardown(void) {
  scratch_close();
}

static ep_ticket *ticket_add(char *secret) {
  ep_ticket *ticket = ep_tickets_add(&tickets, "slurm:gpu", &REQUEST, secret);
  ck_assert_ptr_nonnull(ticket);
  ticket->job = 12;
  ticket->task = 3;
  ck_assert_int_eq(ep_tickets_save(&tickets, NULL), EP_OK);
  return ticket;
}

static ep_record_hello hello_of(const char *worker, const char *secret, const char *version) {
  ep_record_hello hello = {.first = 1};
  snprintf(hello.worker, sizeof hello.worker, "%s", worker);
  snprintf(hello.secret, sizeof hello.secret, "%s", secret);
  snprintf(hello.version, sizeof hello.version, "%s", version);
  snprintf(hello.node, sizeof hello.node, "n1");
  return hello;
}

/* secret: of the next connection, written. */
static ep_status claim(ep_tickets *list, const ep_record_hello *hello, char *secret) {
  ep_ticket *ticket;
  int connection;
  return ep_tickets_claim(list, hello, -1, &ticket, &connection, secret, NULL);
}

START_TEST(a_secret_is_good_for_one_connection) {
  char first[EP_SHA256_HEX_BYTES], second[EP_SHA256_HEX_BYTES], same[EP_SHA256_HEX_BYTES];
  const ep_ticket *ticket = ticket_add(first);
  ep_record_hello hello = hello_of(ticket->worker, first, EP_VERSION);
  ck_assert_int_eq(claim(&tickets, &hello, second), EP_OK);
  ck_assert_str_ne(first, second);
  ck_assert_int_eq(ticket->state, EP_TICKET_CONNECTED);
  ck_assert_str_eq(ticket->node, "n1");
  ck_assert_int_eq(claim(&tickets, &hello, same), EP_FORBIDDEN);
  ck_assert_int_eq(tickets.refused, 1);
  hello = hello_of(ticket->worker, second, EP_VERSION); /* the same relay, again */
  ck_assert_int_eq(claim(&tickets, &hello, same), EP_OK);
  ck_assert_str_eq(same, second);
}
END_TEST

START_TEST(a_disk_that_refuses_costs_no_worker) {
  char path[sizeof config.data_dir + 16], away[sizeof config.data_dir + 16];
  char first[EP_SHA256_HEX_BYTES], second[EP_SHA256_HEX_BYTES];
  const ep_ticket *ticket = ticket_add(first);
  const ep_record_hello hello = hello_of(ticket->worker, first, EP_VERSION);
  snprintf(path, sizeof path, "%s/slurm", config.data_dir);
  snprintf(away, sizeof away, "%s/away", config.data_dir);
  ck_assert_int_eq(rename(path, away), 0);
  ck_assert_int_ne(claim(&tickets, &hello, second), EP_OK);
  ck_assert_int_eq(rename(away, path), 0);
  ck_assert_int_eq(ticket->state, EP_TICKET_WAITING);
  ck_assert_int_eq(claim(&tickets, &hello, second), EP_OK);
}
END_TEST

START_TEST(strangers_are_refused_and_counted) {
  char secret[EP_SHA256_HEX_BYTES], next[EP_SHA256_HEX_BYTES];
  ep_ticket *ticket = ticket_add(secret);
  ep_record_hello hello = hello_of("wrk_nobody", secret, EP_VERSION);
  ck_assert_int_eq(claim(&tickets, &hello, next), EP_FORBIDDEN);
  hello = hello_of(ticket->worker, secret, "0.0.0");
  ck_assert_int_eq(claim(&tickets, &hello, next), EP_FORBIDDEN);
  secret[0] = secret[0] == '0' ? '1' : '0';
  hello = hello_of(ticket->worker, secret, EP_VERSION);
  ck_assert_int_eq(claim(&tickets, &hello, next), EP_FORBIDDEN);
  ck_assert_int_eq(ticket->state, EP_TICKET_WAITING);
  ep_ticket_set(ticket, EP_TICKET_ENDED);
  secret[0] = secret[0] == '0' ? '1' : '0';
  ck_assert_int_eq(claim(&tickets, &hello, next), EP_FORBIDDEN);
  ep_tickets_refuse(&tickets);
  ck_assert_int_eq(tickets.refused, 5);
}
END_TEST

START_TEST(the_next_gateway_has_them) {
  char first[EP_SHA256_HEX_BYTES], second[EP_SHA256_HEX_BYTES], next[EP_SHA256_HEX_BYTES];
  const ep_ticket *waits = ticket_add(first), *was = ticket_add(second);
  ep_record_hello hello = hello_of(was->worker, second, EP_VERSION);
  ck_assert_int_eq(claim(&tickets, &hello, next), EP_OK);
  ck_assert_int_eq(ep_tickets_open(&later, &config, NULL), EP_OK);
  const ep_ticket *found = ep_tickets_find(&later, waits->worker);
  ck_assert_ptr_nonnull(found);
  ck_assert_int_eq(found->state, EP_TICKET_WAITING);
  ck_assert_mem_eq(&found->request, &REQUEST, sizeof REQUEST);
  ck_assert_int_eq(found->job, 12);
  ck_assert_int_eq(found->task, 3);
  ck_assert_int_eq(ep_tickets_find(&later, was->worker)->state, EP_TICKET_AWAY);
  ck_assert_int_eq(claim(&later, &hello, first), EP_FORBIDDEN); /* it was used before */
  hello = hello_of(was->worker, next, EP_VERSION);
  ck_assert_int_eq(claim(&later, &hello, first), EP_OK);
}
END_TEST

START_TEST(a_line_of_another_program_is_passed_over) {
  static const char *const lines[] = {"wrk_a slurm:gpu 00 0 1 2 - - - - - 0 0 0 0\n", "\n",
                                      "wrk_a slurm:gpu\n"};
  char path[sizeof config.data_dir + 32], secret[EP_SHA256_HEX_BYTES];
  const ep_ticket *ticket = ticket_add(secret);
  snprintf(path, sizeof path, "%s/slurm/workers", config.data_dir);
  FILE *file = fopen(path, "a");
  ck_assert_ptr_nonnull(file);
  for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) fputs(lines[i], file);
  fclose(file);
  ck_assert_int_eq(ep_tickets_open(&later, &config, NULL), EP_OK);
  ck_assert_ptr_nonnull(ep_tickets_find(&later, ticket->worker));
  ck_assert_ptr_null(ep_tickets_find(&later, "wrk_a"));
}
END_TEST

EP_SUITE("server/slurm/gateway/tickets") {
  TCase *tests = ep_suite_case(suite, "tickets");
  tcase_add_checked_fixture(tests, setup, teardown);
  tcase_add_test(tests, a_secret_is_good_for_one_connection);
  tcase_add_test(tests, a_disk_that_refuses_costs_no_worker);
  tcase_add_test(tests, strangers_are_refused_and_counted);
  tcase_add_test(tests, the_next_gateway_has_them);
  tcase_add_test(tests, a_line_of_another_program_is_passed_over);
}
