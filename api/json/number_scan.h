/* number_scan.h: decimal text to double, correctly rounded, fast: what CSV and JSON are made of.
 */
#ifndef EP_API_JSON_NUMBER_SCAN_H
#define EP_API_JSON_NUMBER_SCAN_H

typedef enum {
  EP_NUMBER_CSV,       /* also "+1", ".5", "1.", "007" */
  EP_NUMBER_CSV_COMMA, /* the same with a decimal comma */
  EP_NUMBER_JSON       /* RFC 8259 */
} ep_number_grammar;

/* Reads the longest number that starts at `at` and returns the byte after it, or NULL when none
 * starts there (spaces, "nan" and "inf" are none) or it is longer than EP_LIMIT_CSV_FIELD_BYTES.
 * *value is the nearest double, ties to even; an infinity when the number is beyond all doubles. */
const char *ep_number_scan(const char *at, const char *end, ep_number_grammar grammar,
                           double *value);

#endif
