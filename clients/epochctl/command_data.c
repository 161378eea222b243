/* command_data.c: data put, ls, show, rm. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "clients/epochctl/commands.h"
#include "clients/epochctl/fields.h"
#include "clients/epochctl/figures.h"
#include "clients/epochctl/http.h"
#include "clients/epochctl/listing.h"
#include "clients/epochctl/table.h"

enum { SHOWN_COLUMNS = 100, TEXT_BYTES = 256, PART_BYTES = 16 };

typedef struct {
  const ep_session *session;
  const char *title;
  bool drawn;
} upload;

/* Only on a terminal, and only for what takes a while. */
static bool tick_comes(void *context, int64_t sent, int64_t to_send, int64_t received,
                       int64_t to_receive) {
  upload *now = context;
  char a[EP_FIGURE_BYTES], b[EP_FIGURE_BYTES], title[64];
  (void)received, (void)to_receive;
  if (!now->session->terminal.live || now->session->json || to_send < (1 << 20)) return true;
  ep_text_copy(title, sizeof title, now->title);
  if (sent < to_send)
    printf("\r%s  %s  %s of %s\x1b[K", title, ep_figure_percent((double)sent / (double)to_send, a),
           ep_figure_bytes((double)sent, b), ep_figure_bytes((double)to_send, a));
  else
    printf("\r%s  sent, being looked through\x1b[K", title);
  fflush(stdout);
  now->drawn = true;
  return true;
}

/* "train/x=FILE": the part, and the file behind it; of another word the whole is the file. */
static const char *part_split(const char *word, char part[PART_BYTES]) {
  static const char *const PARTS[] = {"train/x",      "train/y", "validation/x",
                                      "validation/y", "test/x",  "test/y"};
  *part = 0;
  for (size_t i = 0; i < sizeof PARTS / sizeof PARTS[0]; i++) {
    size_t bytes = strlen(PARTS[i]);
    if (strncmp(word, PARTS[i], bytes) != 0 || word[bytes] != '=') continue;
    snprintf(part, PART_BYTES, "%s", PARTS[i]);
    return word + bytes + 1;
  }
  return word;
}

/* The dataset's first line of `ls`, as the answer to what was put. */
static void put_print(const json_t *dataset) {
  char name[TEXT_BYTES], format[32], rows[EP_FIGURE_BYTES], bytes[EP_FIGURE_BYTES];
  ep_text_copy(name, sizeof name, ep_field_text(dataset, "name"));
  ep_text_copy(format, sizeof format, ep_field_text(dataset, "format"));
  printf("%s  %s, %s rows, %s\n", name, format,
         ep_figure_count(ep_field_integer(dataset, "rows"), rows),
         ep_figure_bytes(ep_field_number(dataset, "bytes"), bytes));
}

static ep_status put_file(ep_session *session, const char *path, const char *file_name,
                          bool says_what, ep_error *error) {
  struct stat about;
  ep_status status = EP_OK;
  json_t *dataset = NULL;
  bool piped = strcmp(file_name, "-") == 0;
  FILE *file = piped ? stdin : fopen(file_name, "re");
  if (!file)
    return ep_fail(error, EP_INVALID, "%.300s cannot be read: %s", file_name, strerror(errno));
  if (fstat(fileno(file), &about) != 0 || S_ISDIR(about.st_mode)) {
    status = ep_fail(error, EP_INVALID, "%.300s is no file", file_name);
  } else {
    upload now = {.session = session, .title = file_name};
    ep_call call = {.method = "PUT",
                    .path = path,
                    .content_type = "application/octet-stream",
                    .upload = file,
                    .upload_bytes = S_ISREG(about.st_mode) && !piped ? (int64_t)about.st_size : -1,
                    .tick = tick_comes,
                    .context = &now,
                    .long_lasting = true};
    status = ep_call_ask(session, &call, &dataset, error);
    if (now.drawn) fputs("\r\x1b[K", stdout);
  }
  if (!piped) fclose(file);
  if (!status && dataset && says_what) put_print(dataset);
  json_decref(dataset);
  return status;
}

static ep_status words_check(const ep_arguments *arguments, ep_error *error) {
  char part[PART_BYTES];
  for (int i = 1; i < arguments->words_count; i++) {
    part_split(arguments->words[i], part);
    if (!*part && arguments->words_count > 2)
      return ep_fail(error, EP_INVALID,
                     "several files must be parts, as train/x=FILE, and \"%.200s\" is none",
                     arguments->words[i]);
  }
  return EP_OK;
}

ep_status ep_command_data_put(ep_session *session, const ep_arguments *arguments, ep_error *error) {
  char path[EP_PATH_MAX_BYTES], part[PART_BYTES];
  const char *header = ep_arguments_value(arguments, "header");
  const char *delimiter = ep_arguments_value(arguments, "delimiter");
  ep_status status = words_check(arguments, error);
  for (int i = 1; i < arguments->words_count && !status; i++) {
    const char *file = part_split(arguments->words[i], part);
    char after[PART_BYTES + 1] = "";
    if (*part) snprintf(after, sizeof after, "/%s", part);
    ep_path_make(path, "/v1/datasets/", arguments->words[0], after);
    if (header) ep_path_query(path, "header", header);
    if (delimiter) ep_path_query(path, "delimiter", delimiter);
    status = put_file(session, path, file, i == arguments->words_count - 1, error);
  }
  return status;
}

static void cells_add(ep_table *table, const json_t *item) {
  char text[EP_FIGURE_BYTES];
  ep_table_cell(table, ep_field_text(item, "role"), EP_COLOUR_PLAIN);
  ep_table_cell(table, ep_field_text(item, "format"), EP_COLOUR_PLAIN);
  ep_table_cell(table, ep_figure_count(ep_field_integer(item, "rows"), text), EP_COLOUR_PLAIN);
  ep_table_cell(table, ep_figure_bytes(ep_field_number(item, "bytes"), text), EP_COLOUR_PLAIN);
  ep_table_cell(table, ep_figure_age(ep_field_text(item, "created_at"), text), EP_COLOUR_DIM);
}

ep_status ep_command_data_ls(ep_session *session, const ep_arguments *arguments, ep_error *error) {
  static const ep_column COLUMNS[] = {{"data set", false, true}, {"role", false, false},
                                      {"format", false, false},  {"rows", true, false},
                                      {"bytes", true, false},    {"uploaded", false, true}};
  static const ep_listing LISTING = {"/v1/datasets", COLUMNS, sizeof COLUMNS / sizeof *COLUMNS,
                                     cells_add,
                                     "no data sets; epochctl data put NAME FILE uploads one"};
  return ep_listing_print(session, arguments, &LISTING, error);
}

static void shape_write(const json_t *shape, char text[TEXT_BYTES]) {
  size_t index, used = 0;
  const json_t *side;
  *text = 0;
  json_array_foreach(shape, index, side) {
    if (used + 24 < TEXT_BYTES)
      used += (size_t)snprintf(text + used, TEXT_BYTES - used, "%s%lld", used ? " x " : "",
                               (long long)json_integer_value(side));
  }
}

static void parts_print(const ep_session *session, const json_t *dataset) {
  char text[TEXT_BYTES];
  const char *split, *role;
  json_t *roles, *part;
  ep_table table = {0};
  ep_table_column(&table, "part", false, false);
  ep_table_column(&table, "rows", true, false);
  ep_table_column(&table, "shape of a row", false, false);
  ep_table_column(&table, "type", false, false);
  json_object_foreach((json_t *)ep_field(dataset, "parts"), split, roles) {
    json_object_foreach(roles, role, part) {
      snprintf(text, sizeof text, "%s/%s", split, role);
      ep_table_cell(&table, text, EP_COLOUR_BOLD);
      ep_table_cell(&table, ep_figure_count(ep_field_integer(part, "rows"), text), EP_COLOUR_PLAIN);
      shape_write(ep_field(part, "shape"), text);
      ep_table_cell(&table, *text ? text : "1", EP_COLOUR_PLAIN);
      ep_table_cell(&table, ep_field_text(part, "dtype"), EP_COLOUR_PLAIN);
    }
  }
  if (table.cells_count > 0) ep_table_print(&table, &session->terminal, true);
  ep_table_deinit(&table);
}

static void columns_print(const ep_session *session, const json_t *columns) {
  char text[EP_FIGURE_BYTES];
  const json_t *column;
  size_t index, count = json_array_size(columns);
  ep_table table = {0};
  if (count == 0) return;
  ep_table_column(&table, "column", false, true);
  ep_table_column(&table, "least", true, false);
  ep_table_column(&table, "greatest", true, false);
  ep_table_column(&table, "", false, false);
  json_array_foreach(columns, index, column) {
    if (index == SHOWN_COLUMNS) break;
    ep_table_cell(&table, ep_field_text(column, "name"), EP_COLOUR_BOLD);
    ep_table_cell(&table, ep_figure_number(ep_field_number(column, "min"), text), EP_COLOUR_PLAIN);
    ep_table_cell(&table, ep_figure_number(ep_field_number(column, "max"), text), EP_COLOUR_PLAIN);
    bool whole = json_is_true(ep_field(column, "integer"));
    ep_table_cell(&table, whole ? "whole numbers" : "", EP_COLOUR_DIM);
  }
  puts("");
  ep_table_print(&table, &session->terminal, true);
  ep_table_deinit(&table);
  if (count > SHOWN_COLUMNS)
    printf("and %zu more columns; --json has them\n", count - SHOWN_COLUMNS);
}

ep_status ep_command_data_show(ep_session *session, const ep_arguments *arguments,
                               ep_error *error) {
  char path[EP_PATH_MAX_BYTES], text[TEXT_BYTES];
  json_t *dataset = NULL;
  ep_path_make(path, "/v1/datasets/", arguments->words[0], "");
  ep_status status = ep_get_ask(session, path, &dataset, error);
  if (status || !dataset) return status;
  put_print(dataset);
  ep_text_copy(text, sizeof text, ep_field_text(dataset, "sha256"));
  printf("SHA-256 %s\n\n", text);
  parts_print(session, dataset);
  columns_print(session, ep_field(dataset, "columns"));
  json_decref(dataset);
  return EP_OK;
}

ep_status ep_command_data_rm(ep_session *session, const ep_arguments *arguments, ep_error *error) {
  return ep_listing_remove(session, arguments, "/v1/datasets", "deleted", error);
}
