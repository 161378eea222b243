/* content.c: what a file is that is neither a PNG nor a JPEG, whatever its name says. */
#include <string.h>
#include <strings.h>

#include "api/json/utf8.h"
#include "engine/data/pictures/picture.h"

/* Bytes at an offset, and what a file that has them is. */
static const struct {
  size_t offset;
  const char *bytes;
  size_t count;
  const char *name;
} signatures[] = {
    {0, "GIF8", 4, "a GIF"},
    {8, "WEBP", 4, "a WebP"},
    {0, "BM", 2, "a BMP"},
    {0, "II*\0", 4, "a TIFF"},
    {0, "MM\0*", 4, "a TIFF"},
    {4, "ftypavif", 8, "an AVIF"},
    {4, "ftyphei", 7, "a HEIC"},
    {4, "ftypmif1", 8, "a HEIC"},
    {4, "ftyp", 4, "a video (MP4)"},
    {0, "\xFF\x0A", 2, "a JPEG XL"},
    {4, "JXL ", 4, "a JPEG XL"},
    {4, "jP  ", 4, "a JPEG 2000"},
    {0, "8BPS", 4, "a file of Photoshop"},
    {0, "\0\0\1\0", 4, "an icon (ICO)"},
    {128, "DICM", 4, "a DICOM file"},
    {0, "%PDF", 4, "a PDF"},
    {0, "PK\3\4", 4, "a ZIP"},
    {0, "\x1F\x8B", 2, "a gz file"},
    {0, "version https://git-lfs", 23, "a pointer of Git LFS, not the file itself"},
};

static bool begins(const char *text, size_t bytes, const char *word) {
  size_t count = strlen(word);
  return bytes >= count && strncasecmp(text, word, count) == 0;
}

const char *ep_picture_content_name(const uint8_t *bytes, size_t size) {
  enum { LOOKED_AT = 512 };
  if (size == 0) return "an empty file";
  for (size_t i = 0; i < sizeof signatures / sizeof *signatures; i++)
    if (size >= signatures[i].offset + signatures[i].count &&
        memcmp(bytes + signatures[i].offset, signatures[i].bytes, signatures[i].count) == 0)
      return signatures[i].name;
  const char *text = (const char *)bytes;
  size_t count = size < LOOKED_AT ? size : LOOKED_AT, at = 0, length;
  if (memchr(text, 0, count)) return "a file of unknown content";
  for (; at < count && (length = ep_utf8_character(text + at, count - at)) > 0; at += length) {
  }
  if (count - at > (size > count ? EP_UTF8_BYTES - 1 : 0)) return "a file of unknown content";
  if (begins(text, count, "\xEF\xBB\xBF")) text += 3, count -= 3;
  for (; count > 0 && strchr(" \t\r\n", *text); text++) count--;
  if (begins(text, count, "<!doctype html") || begins(text, count, "<html")) return "an HTML page";
  if (begins(text, count, "<svg") || begins(text, count, "<?xml")) return "XML or an SVG";
  return "text";
}
