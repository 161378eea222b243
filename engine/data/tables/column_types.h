/* column_types.h: what the columns of a table of any cells are: numbers, dates, words, text. */
#ifndef EP_ENGINE_DATA_TABLES_COLUMN_TYPES_H
#define EP_ENGINE_DATA_TABLES_COLUMN_TYPES_H

#include "engine/data/datasets/part_writer.h"
#include "engine/data/tables/column_cells.h"
#include "engine/data/tables/table_rows.h"

/* Walks over the rows, and once more where words have to be counted that were taken for numbers,
 * and decides by all cells: the marks of numbers and the order of dates of the whole table, which
 * go into rows->dialect; then each column. A column of which nearly all cells are numbers, or dates
 * of one form, is that, and its few other words are missing cells; codes (02134) and all others are
 * a category, or text: more than EP_LIMIT_CATEGORIES words, one of more than EP_LIMIT_WORD_BYTES,
 * or none that occurs twice. Words of one key are one word (word_key.h). What may surprise is said
 * in column->note, and in `notes` for the whole table.
 *
 * cells: [rows->columns], zeroed, whose words are the caller's also on failure. draft: a part
 * without rows, of whose columns the type, words, sign and note are written. It gets a row for
 * each: numbers, seconds, and words by ep_drafted_word; *drafted: all cells are that, and the rows
 * can be read back. Refuses cells that are not UTF-8. */
ep_status ep_column_types_find(ep_table_rows *rows, ep_column_cells *cells, ep_part_writer *draft,
                               bool *drafted, ep_notes *notes, ep_error *error);

/* Whether a first line that was taken for names is a row like those below it: its numbers and dates
 * are such as its columns have, and most of its words are words of its columns. Where it has
 * numbers like 1,5 and 10 % alone, it is a row. Names: those of column[columns]. *note: what has to
 * be said where the evidence is weak, or left as it is. */
bool ep_column_names_are_cells(const ep_column *column, const ep_column_cells *cells,
                               int64_t columns, const ep_dialect *dialect, const char **note);

/* In a draft, the cell of word `number`; and the number of such a cell, -1: it is a value. */
double ep_drafted_word(uint32_t number);
int64_t ep_drafted_number(double cell);

#endif
