/* picture_archive.h: archives of pictures as uploads, and what became of them. */
#ifndef EP_TESTS_PICTURE_ARCHIVE_H
#define EP_TESTS_PICTURE_ARCHIVE_H

#include "api/names.h"
#include "engine/data/datasets/meta.h"
#include "tests/suite.h"
#include "tests/unit/engine/data/picture_files.h"
#include "tests/unit/engine/scratch.h"

enum { ITEMS = 24 };

/* What a case puts into its ZIP: "" is a file of text, a number a flat picture of that grey. */
typedef struct {
  const char *name;
  int value, height, width, channels; /* channels 0: text */
} wanted_item;

static inline picture_file archive_make(const wanted_item *wanted, int how) {
  picture_item items[ITEMS + 1] = {{NULL, {NULL, 0}}};
  int count = 0;
  for (; wanted[count].name; count++) {
    const wanted_item *w = &wanted[count];
    items[count].name = w->name;
    if (w->channels > 0)
      items[count].file = picture_png_flat((uint8_t)w->value, w->height, w->width, w->channels);
    else
      items[count].file = (picture_file){(uint8_t *)strdup("text"), 4};
  }
  picture_file archive = picture_zip(items, how);
  while (count > 0) free(items[--count].file.bytes);
  return archive;
}

static inline ep_status ingest(const wanted_item *wanted, const ep_ingest_options *options,
                               ep_dataset_meta *meta, ep_error *error) {
  picture_file archive = archive_make(wanted, PICTURES_DEFLATED);
  ep_status status = scratch_ingest(archive.bytes, archive.size, options, meta, error);
  free(archive.bytes);
  return status;
}

static inline void ingested(const wanted_item *wanted, const ep_ingest_options *options,
                            ep_dataset_meta *meta) {
  ep_error error = {0};
  ck_assert_msg(ingest(wanted, options, meta, &error) == EP_OK, "%s", error.message);
  ck_assert_str_eq(meta->format, "pictures");
}

/* The rows of that part, their first values. */
static inline void part_is(const char *name, int rows, const int *first) {
  ep_table table;
  scratch_part(name, &table);
  ck_assert_int_eq(table.rows, rows);
  for (int i = 0; i < rows; i++)
    ck_assert_msg((int)ep_table_value(&table, i, 0) == first[i], "%s, row %d: %g instead of %d",
                  name, i, ep_table_value(&table, i, 0), first[i]);
  ep_table_close(&table);
}

#define VALUES(...) ((const int[]){__VA_ARGS__})

/* Ingests the items, which have NULL at the end, and frees their files. */
static inline ep_status items_ingest(picture_item *items, int how, const ep_ingest_options *options,
                                     ep_dataset_meta *meta, ep_error *error) {
  picture_file archive = picture_zip(items, how);
  ep_status status = scratch_ingest(archive.bytes, archive.size, options, meta, error);
  for (; items->name; items++) free(items->file.bytes);
  free(archive.bytes);
  return status;
}

#endif
