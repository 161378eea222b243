/* source.h: C source under construction, as text. In all formats below "@" stands for the prefix of
 * the model's names ("iris"), and "^" for the same in capitals ("IRIS").
 *
 * That memory was short is kept, and looked at at the end. Beyond the limit bytes are only counted,
 * so that the refusal can say how many there would be. */
#ifndef EP_ENGINE_LAYERS_C_SOURCE_H
#define EP_ENGINE_LAYERS_C_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { EP_C_PREFIX_BYTES = 48 };

typedef struct {
  char prefix[EP_C_PREFIX_BYTES], capitals[EP_C_PREFIX_BYTES];
  char *text;
  size_t count, capacity, limit; /* count may be greater than the limit */
  bool failed;                   /* memory was short */
} ep_c_source;

/* name: any text, which is made an identifier; "" is "model". */
void ep_c_source_init(ep_c_source *source, const char *name, size_t limit);
void ep_c_source_deinit(ep_c_source *source);

void ep_c_add(ep_c_source *source, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The same of a text without conversions, which may be long. */
void ep_c_add_text(ep_c_source *source, const char *text);

/* Numbers read back as they are. */
void ep_c_add_float(ep_c_source *source, float value);
void ep_c_add_double(ep_c_source *source, double value);
/* A string literal; NULL is 0. */
void ep_c_add_string(ep_c_source *source, const char *value);
/* Text of others in a comment: one line, which does not end the comment. */
void ep_c_add_remark(ep_c_source *source, const char *value);

/* "static const float @_NAME[COUNT] = {…};"; name is made with the prefix. */
void ep_c_add_floats(ep_c_source *source, const char *name, const float *values, int64_t count);
void ep_c_add_doubles(ep_c_source *source, const char *name, const double *values, int64_t count);
void ep_c_add_bytes(ep_c_source *source, const char *name, const int8_t *values, int64_t count);
/* "static const char *const @_NAME[COUNT] = {…};" */
void ep_c_add_strings(ep_c_source *source, const char *name, const char *const *values,
                      int64_t count);

/* `text` as an identifier that is no word of C and no macro of a header: letters, digits and "_",
 * not digits first. */
void ep_c_identifier(const char *text, const char *fallback, char *out, size_t capacity);

#endif
