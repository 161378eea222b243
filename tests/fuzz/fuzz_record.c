/* Any bytes as a record of a relay's or a gateway's, header and payload; and, where the first is a
 * letter of a line's name, as a connection file. What is taken is plain: no path, no control
 * character. */
#include <string.h>

#include "api/wire/connection.h"
#include "api/wire/record.h"
#include "tests/fuzz/fuzz.h"

static void connection(const uint8_t *bytes, size_t count) {
  static char again[EP_CONNECTION_BYTES];
  ep_connection first, second;
  char *text = malloc(count + 1);
  FUZZ_HOLDS(text);
  memcpy(text, bytes, count);
  text[count] = 0;
  if (ep_connection_parse(text, &first, NULL) == EP_OK &&
      ep_connection_format(&first, again, NULL) == EP_OK) {
    FUZZ_HOLDS(ep_connection_parse(again, &second, NULL) == EP_OK);
    FUZZ_HOLDS(memcmp(&first, &second, sizeof first) == 0);
  }
  free(text);
}

static void payload(const ep_record *record) {
  ep_record_hello hello;
  ep_record_welcome welcome;
  ep_record_file file;
  ep_frame_kind kind;
  char name[EP_RECORD_NAME_BYTES], hash[EP_SHA256_HEX_BYTES], text[EP_MESSAGE_BYTES];
  if (ep_record_hello_read(record, &hello, NULL) == EP_OK) {
    FUZZ_HOLDS(!strchr(hello.worker, '/') && !strchr(hello.job, '/'));
    FUZZ_HOLDS(strlen(hello.secret) == EP_SHA256_HEX_BYTES - 1 && hello.first > 0);
  }
  if (ep_record_welcome_read(record, &welcome, NULL) == EP_OK)
    FUZZ_HOLDS(welcome.keep == 0 || welcome.keep == 1);
  if (ep_record_file_read(record, &file, NULL) == EP_OK)
    FUZZ_HOLDS(file.name[0] != '.' && !strstr(file.name, "/."));
  if (ep_record_folder_read(record, name, NULL) == EP_OK) FUZZ_HOLDS(name[0] != '/');
  if (ep_record_end_read(record, hash, NULL) == EP_OK) FUZZ_HOLDS(strlen(hash) == 64);
  if (ep_record_frame_read(record, &kind, NULL) == EP_OK)
    FUZZ_HOLDS(record->bytes >= EP_FRAME_HEADER_BYTES);
  ep_record_names_read(record, NULL);
  ep_record_text_read(record, text);
  FUZZ_HOLDS(memchr(text, 0, sizeof text));
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count) {
  ep_record record;
  if (count > 0 && bytes[0] == 'E') connection(bytes, count);
  if (count < EP_RECORD_HEADER_BYTES || ep_record_header_read(bytes, &record, NULL) != EP_OK)
    return 0;
  /* A block of just this size: reading behind it shows. */
  record.bytes = count - EP_RECORD_HEADER_BYTES;
  uint8_t *copy = malloc(record.bytes + (record.bytes == 0));
  FUZZ_HOLDS(copy);
  memcpy(copy, bytes + EP_RECORD_HEADER_BYTES, record.bytes);
  record.payload = copy;
  payload(&record);
  free(copy);
  return 0;
}
