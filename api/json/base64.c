#include "api/json/base64.h"

static const char DIGITS[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

void ep_base64_write(ep_writer *writer, const unsigned char *bytes, size_t count) {
  for (size_t i = 0; i < count; i += 3) {
    size_t left = count - i;
    unsigned word = (unsigned)bytes[i] << 16 | (left > 1 ? (unsigned)bytes[i + 1] << 8 : 0) |
                    (left > 2 ? bytes[i + 2] : 0);
    char four[4] = {DIGITS[word >> 18], DIGITS[word >> 12 & 63], DIGITS[word >> 6 & 63],
                    DIGITS[word & 63]};
    if (left < 3) four[3] = '=';
    if (left < 2) four[2] = '=';
    ep_writer_bytes(writer, four, 4);
  }
}

void ep_base64_string_write(ep_writer *writer, const unsigned char *bytes, size_t count) {
  ep_writer_string(writer, ""); /* with its comma; the text goes between the two quotes */
  if (writer->failed) return;
  writer->count--;
  ep_base64_write(writer, bytes, count);
  ep_writer_bytes(writer, "\"", 1);
}

static int digit_of(char letter) {
  if (letter >= 'A' && letter <= 'Z') return letter - 'A';
  if (letter >= 'a' && letter <= 'z') return letter - 'a' + 26;
  if (letter >= '0' && letter <= '9') return letter - '0' + 52;
  return letter == '+' ? 62 : letter == '/' ? 63 : -1;
}

bool ep_base64_read(const char *text, unsigned char *bytes, size_t count) {
  if (strlen(text) != (count + 2) / 3 * 4) return false;
  for (size_t i = 0; i < count; i += 3, text += 4) {
    size_t left = count - i < 3 ? count - i : 3;
    unsigned word = 0;
    for (size_t k = 0; k < 4; k++) {
      int digit = k <= left ? digit_of(text[k]) : text[k] == '=' ? 0 : -1;
      if (digit < 0) return false;
      word = word << 6 | (unsigned)digit;
    }
    for (size_t k = 0; k < left; k++) bytes[i + k] = (unsigned char)(word >> (16 - 8 * k));
  }
  return true;
}
