/* Records over TLS between two channels of this process, and files that go through them. */
#include "engine/tunnel/channel.h"

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "engine/files/path.h"
#include "engine/tunnel/parcel.h"
#include "tests/suite.h"

static char folder[64];
static ep_certificate *certificate;
static ep_channel *gateway, *relay;

static void folder_make(void) {
  snprintf(folder, sizeof folder, "%s/epochd-channel.XXXXXX",
           getenv("TMPDIR") && strlen(getenv("TMPDIR")) < 30 ? getenv("TMPDIR") : "/tmp");
  ck_assert_ptr_nonnull(mkdtemp(folder));
  ck_assert_int_eq(ep_certificate_open(folder, &certificate, NULL), EP_OK);
}

static void folder_remove(void) {
  static const char *const names[] = {"certificate.pem", "key.pem", "there", "from"};
  char path[EP_PATH_BYTES];
  ep_channel_close(gateway);
  ep_channel_close(relay);
  gateway = relay = NULL;
  ep_certificate_close(certificate);
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    ep_path_join(path, NULL, folder, names[i], NULL);
    unlink(path);
  }
  rmdir(folder);
}

static void channels_open(const char *pin) {
  int pair[2];
  ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
  ck_assert_int_eq(ep_channel_listen(pair[0], certificate, &gateway, NULL), EP_OK);
  ck_assert_int_eq(ep_channel_connect(pair[1], pin, &relay, NULL), EP_OK);
}

/* Pumps both until one fails, or a record lies there for `to`; NULL: until hands are shaken. */
static ep_status both_pump(ep_channel *to, ep_error *error) {
  ep_record record;
  for (;;) {
    ep_status status = ep_channel_pump(relay, true, error);
    if (status == EP_OK) status = ep_channel_pump(gateway, true, error);
    if (status != EP_OK) return status;
    if (to ? ep_channel_peek(to, &record)
           : ep_channel_is_open(relay) && ep_channel_is_open(gateway))
      return EP_OK;
  }
}

static void own_pin(char pin[EP_SHA256_HEX_BYTES]) {
  ck_assert_int_eq(ep_certificate_pin(certificate, pin, NULL), EP_OK);
}

START_TEST(records_arrive_in_order) {
  char pin[EP_SHA256_HEX_BYTES];
  ep_record record;
  own_pin(pin);
  channels_open(pin);
  ep_channel_trust(gateway);
  ck_assert_int_eq(both_pump(NULL, NULL), EP_OK);
  for (uint64_t i = 1; i <= 3; i++)
    ck_assert_int_eq(ep_channel_put(relay, EP_RECORD_DATA, i, "abc", (size_t)i, "d", 1, NULL),
                     EP_OK);
  for (uint64_t i = 1; i <= 3; i++) {
    ck_assert_int_eq(both_pump(gateway, NULL), EP_OK);
    ck_assert(ep_channel_peek(gateway, &record));
    ck_assert_uint_eq(record.number, i);
    ck_assert_uint_eq(record.bytes, i + 1);
    ck_assert_mem_eq(record.payload, "abc", (size_t)i);
    ck_assert_int_eq(record.payload[i], 'd');
    ep_channel_drop(gateway);
  }
  ck_assert(!ep_channel_peek(gateway, &record));
}
END_TEST

START_TEST(another_certificate_is_refused) {
  char pin[EP_SHA256_HEX_BYTES];
  ep_error error = {0};
  own_pin(pin);
  pin[0] = pin[0] == 'a' ? 'b' : 'a';
  channels_open(pin);
  ck_assert_int_eq(both_pump(NULL, &error), EP_FORBIDDEN);
  ck_assert_ptr_nonnull(strstr(error.message, "does not have epochd's certificate"));
}
END_TEST

START_TEST(strangers_say_little) {
  char pin[EP_SHA256_HEX_BYTES];
  uint8_t large[sizeof(ep_record_hello) + 1] = {0};
  ep_error error = {0};
  own_pin(pin);
  channels_open(pin);
  ck_assert_int_eq(both_pump(NULL, NULL), EP_OK);
  ck_assert_int_eq(ep_channel_put(relay, EP_RECORD_DATA, 0, large, sizeof large, NULL, 0, NULL),
                   EP_OK);
  ck_assert_int_eq(both_pump(gateway, &error), EP_TOO_LARGE);
}
END_TEST

/* Sends the file "from" as `name`, and takes it in. */
static ep_status file_send(const char *name, const char *text, int64_t from) {
  char path[EP_PATH_BYTES], hash[EP_SHA256_HEX_BYTES];
  ep_outgoing out = {.file = -1};
  ep_incoming in = {.folder = -1, .file = -1};
  ep_record record;
  ep_record_file file;
  ep_path_join(path, NULL, folder, "from", NULL);
  FILE *stream = fopen(path, "w");
  ck_assert_ptr_nonnull(stream);
  fputs(text, stream);
  fclose(stream);
  int root = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  ck_assert_int_eq(ep_outgoing_begin(&out, relay, open(path, O_RDONLY | O_CLOEXEC), name, from,
                                     (int64_t)strlen(text), NULL),
                   EP_OK);
  ck_assert_int_eq(ep_outgoing_go_on(&out, relay, NULL), EP_OK);
  ep_status status = EP_OK;
  for (bool ended = false; !ended;) { /* to the end, so that the next file is not in its way */
    ck_assert_int_eq(both_pump(gateway, NULL), EP_OK);
    ck_assert(ep_channel_peek(gateway, &record));
    if (record.kind == EP_RECORD_FILE) status = ep_record_file_read(&record, &file, NULL);
    if (record.kind == EP_RECORD_FILE && status == EP_OK)
      status = ep_incoming_begin(&in, root, &file, NULL);
    if (record.kind == EP_RECORD_DATA && status == EP_OK)
      status = ep_incoming_data(&in, record.payload, record.bytes, NULL);
    ended = record.kind == EP_RECORD_FILE_END;
    if (ended && status == EP_OK) status = ep_record_end_read(&record, hash, NULL);
    if (ended && status == EP_OK) status = ep_incoming_end(&in, hash, NULL);
    ep_channel_drop(gateway);
  }
  ep_incoming_abandon(&in);
  ep_outgoing_abandon(&out);
  close(root);
  return status;
}

static void there_is(const char *wanted) {
  char path[EP_PATH_BYTES], text[64] = "";
  ep_path_join(path, NULL, folder, "there", NULL);
  FILE *stream = fopen(path, "r");
  ck_assert_ptr_nonnull(stream);
  text[fread(text, 1, sizeof text - 1, stream)] = 0;
  fclose(stream);
  ck_assert_str_eq(text, wanted);
}

START_TEST(files_are_put_in_place) {
  char pin[EP_SHA256_HEX_BYTES], path[EP_PATH_BYTES];
  own_pin(pin);
  channels_open(pin);
  ep_channel_trust(gateway);
  ck_assert_int_eq(file_send("there", "one", 0), EP_OK);
  there_is("one");
  ck_assert_int_eq(file_send("there", "one, two", 3), EP_OK); /* behind what is there */
  there_is("one, two");
  ck_assert_int_eq(file_send("there", "one, two, three", 3), EP_CONFLICT); /* it has more */
  there_is("one, two");
  /* A link is neither followed nor written through. */
  ep_path_join(path, NULL, folder, "there", NULL);
  ck_assert_int_eq(unlink(path), 0);
  ck_assert_int_eq(symlink("key.pem", path), 0);
  ck_assert_int_ne(file_send("there", "one more", 3), EP_OK);
  ck_assert_int_eq(file_send("there", "new", 0), EP_OK);
  there_is("new");
}
END_TEST

EP_SUITE("engine/tunnel/channel") {
  TCase *tests = ep_suite_case(suite, "channel");
  tcase_add_checked_fixture(tests, folder_make, folder_remove);
  tcase_add_test(tests, records_arrive_in_order);
  tcase_add_test(tests, another_certificate_is_refused);
  tcase_add_test(tests, strangers_say_little);
  tcase_add_test(tests, files_are_put_in_place);
}
