#include "engine/layers/c/source.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINE_VALUES = 8, PIECE_BYTES = 2048 };

static void bytes_add(ep_c_source *source, const char *bytes, size_t count) {
  size_t all = source->count + count;
  if (all > source->capacity && all <= source->limit && !source->failed) {
    size_t capacity = source->capacity * 2 > all ? source->capacity * 2 : all + PIECE_BYTES;
    char *text = realloc(source->text, capacity);
    if (text) source->text = text;
    if (text) source->capacity = capacity;
    source->failed = !text;
  }
  if (all <= source->limit && !source->failed) memcpy(source->text + source->count, bytes, count);
  source->count = all;
}

/* Words that are none for names, also those of C23, of C++ and of GNU C: a header may be included
 * there. */
static bool is_reserved(const char *name) {
  static const char words[] =
      "alignas\0alignof\0and\0and_eq\0asm\0auto\0bitand\0bitor\0bool\0break\0case\0catch\0"
      "char\0char16_t\0char32_t\0char8_t\0class\0co_await\0co_return\0co_yield\0compl\0"
      "concept\0const\0const_cast\0consteval\0constexpr\0constinit\0continue\0decltype\0"
      "default\0delete\0do\0double\0dynamic_cast\0else\0enum\0explicit\0export\0extern\0"
      "false\0float\0for\0friend\0goto\0i386\0if\0inline\0int\0linux\0long\0main\0mutable\0"
      "namespace\0new\0noexcept\0not\0not_eq\0nullptr\0operator\0or\0or_eq\0private\0"
      "protected\0public\0register\0reinterpret_cast\0requires\0restrict\0return\0short\0"
      "signed\0sizeof\0static\0static_assert\0static_cast\0struct\0switch\0template\0this\0"
      "thread_local\0throw\0true\0try\0typedef\0typeid\0typename\0typeof\0typeof_unqual\0"
      "union\0unix\0unsigned\0using\0virtual\0void\0volatile\0wchar_t\0while\0xor\0xor_eq\0";
  for (const char *word = words; *word; word += strlen(word) + 1)
    if (strcmp(word, name) == 0) return true;
  return false;
}

/* Macros of the headers that are included, and those of the header itself (export.c). */
static bool may_be_macro(const char *name) {
  static const char *const firsts[] = {
      "NAN",   "INFINITY", "NULL",   "M_",    "FP_",      "HUGE_",   "MATH_",          "INT8",
      "INT16", "INT32",    "INT64",  "INT_",  "INTPTR_",  "INTMAX_", "UINT",           "PTRDIFF_",
      "SIZE_", "SIG_",     "WCHAR_", "WINT_", "MAXFLOAT", "SNAN",    "MODEL_SELF_TEST"};
  static const char *const lasts[] = {"_H", "_OUTPUTS", "_INPUTS", "_CLASSES", "_WINDOW"};
  const size_t count = strlen(name);
  for (size_t i = 0; i < sizeof firsts / sizeof *firsts; i++)
    if (strncmp(name, firsts[i], strlen(firsts[i])) == 0) return true;
  for (size_t i = 0; i < sizeof lasts / sizeof *lasts; i++) {
    const size_t last = strlen(lasts[i]);
    if (count >= last && strcmp(name + count - last, lasts[i]) == 0) return true;
  }
  return false;
}

static bool is_letter(char byte) {
  return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z');
}

static bool is_digit(char byte) {
  return byte >= '0' && byte <= '9';
}

void ep_c_identifier(const char *text, const char *fallback, char *out, size_t capacity) {
  size_t count = 0;
  for (; *text && count + 2 < capacity; text++) {
    bool plain = is_letter(*text) || is_digit(*text);
    if (count == 0 && is_digit(*text)) out[count++] = 'n';
    if (plain)
      out[count++] = *text;
    else if (count > 0 && out[count - 1] != '_')
      out[count++] = '_';
  }
  while (count > 0 && out[count - 1] == '_') count--;
  out[count] = 0;
  if (count == 0) snprintf(out, capacity, "%s", fallback);
  if (is_reserved(out) || may_be_macro(out))
    snprintf(out + strlen(out), capacity - strlen(out), "_");
}

void ep_c_source_init(ep_c_source *source, const char *name, size_t limit) {
  *source = (ep_c_source){.limit = limit};
  ep_c_identifier(name, "model", source->prefix, sizeof source->prefix);
  for (size_t i = 0; source->prefix[i]; i++) {
    char byte = source->prefix[i];
    source->capitals[i] = (char)(byte >= 'a' && byte <= 'z' ? byte - 'a' + 'A' : byte);
  }
}

void ep_c_source_deinit(ep_c_source *source) {
  free(source->text);
  source->text = NULL;
}

void ep_c_add_text(ep_c_source *source, const char *text) {
  while (*text) {
    size_t plain = strcspn(text, "@^");
    bytes_add(source, text, plain);
    text += plain;
    if (!*text) return;
    const char *name = *text++ == '@' ? source->prefix : source->capitals;
    bytes_add(source, name, strlen(name));
  }
}

void ep_c_add(ep_c_source *source, const char *format, ...) {
  char piece[PIECE_BYTES];
  va_list arguments;
  va_start(arguments, format);
  int count = vsnprintf(piece, sizeof piece, format, arguments);
  va_end(arguments);
  if (count < 0 || count >= (int)sizeof piece)
    source->failed = true; /* no piece of ours is as long */
  else
    ep_c_add_text(source, piece);
}

/* A number with a point or an exponent, so that it is no integer. */
static void number_add(ep_c_source *source, const char *digits, const char *suffix) {
  bytes_add(source, digits, strlen(digits));
  if (!strpbrk(digits, ".e")) bytes_add(source, ".0", 2);
  bytes_add(source, suffix, strlen(suffix));
}

static bool special_add(ep_c_source *source, double value) {
  if (isfinite(value)) return false;
  const char *name = isnan(value) ? "NAN" : value > 0 ? "INFINITY" : "-INFINITY";
  bytes_add(source, name, strlen(name));
  return true;
}

void ep_c_add_float(ep_c_source *source, float value) {
  char digits[32];
  if (special_add(source, (double)value)) return;
  snprintf(digits, sizeof digits, "%.9g", (double)value);
  number_add(source, digits, "f");
}

void ep_c_add_double(ep_c_source *source, double value) {
  char digits[32];
  if (special_add(source, value)) return;
  snprintf(digits, sizeof digits, "%.17g", value);
  number_add(source, digits, "");
}

/* Octal escapes have three digits: what follows does not belong to them. */
void ep_c_add_string(ep_c_source *source, const char *value) {
  if (!value) {
    bytes_add(source, "0", 1);
    return;
  }
  bytes_add(source, "\"", 1);
  for (; *value; value++) {
    char escaped[8];
    unsigned char byte = (unsigned char)*value;
    bool plain = byte >= ' ' && byte < 127 && !strchr("\"\\?", byte);
    int count = plain ? snprintf(escaped, sizeof escaped, "%c", byte)
                      : snprintf(escaped, sizeof escaped, "\\%03o", (unsigned)byte);
    bytes_add(source, escaped, (size_t)count);
  }
  bytes_add(source, "\"", 1);
}

void ep_c_add_remark(ep_c_source *source, const char *value) {
  for (; *value; value++) {
    unsigned char byte = (unsigned char)*value;
    bool plain = byte >= ' ' && byte != 127 && !strchr("*/\\?", byte);
    bytes_add(source, plain ? value : "_", 1);
  }
}

static void array_begin(ep_c_source *source, const char *type, const char *name, int64_t count) {
  ep_c_add(source, "static const %s @_%s[%lld] = {", type, name, (long long)count);
}

/* Before value i of an array. */
static void place_add(ep_c_source *source, int64_t i) {
  const char *place = i == 0 ? "\n  " : i % LINE_VALUES == 0 ? ",\n  " : ", ";
  bytes_add(source, place, strlen(place));
}

void ep_c_add_floats(ep_c_source *source, const char *name, const float *values, int64_t count) {
  array_begin(source, "float", name, count);
  for (int64_t i = 0; i < count; i++) {
    place_add(source, i);
    ep_c_add_float(source, values[i]);
  }
  ep_c_add_text(source, "};\n");
}

void ep_c_add_doubles(ep_c_source *source, const char *name, const double *values, int64_t count) {
  array_begin(source, "double", name, count);
  for (int64_t i = 0; i < count; i++) {
    place_add(source, i);
    ep_c_add_double(source, values[i]);
  }
  ep_c_add_text(source, "};\n");
}

void ep_c_add_bytes(ep_c_source *source, const char *name, const int8_t *values, int64_t count) {
  array_begin(source, "int8_t", name, count);
  for (int64_t i = 0; i < count; i++) {
    char digits[8];
    place_add(source, i);
    bytes_add(source, digits, (size_t)snprintf(digits, sizeof digits, "%d", values[i]));
  }
  ep_c_add_text(source, "};\n");
}

void ep_c_add_strings(ep_c_source *source, const char *name, const char *const *values,
                      int64_t count) {
  array_begin(source, "char *const", name, count);
  for (int64_t i = 0; i < count; i++) {
    place_add(source, i);
    ep_c_add_string(source, values[i]);
  }
  ep_c_add_text(source, "};\n");
}
