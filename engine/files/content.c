#include "engine/files/content.h"

#include <stdbool.h>
#include <string.h>
#include <strings.h>

#include "api/json/utf8.h"

enum { LOOKED_AT = 512 };

static const char table_remedy[] = "export its table as CSV",
                  picture_remedy[] = "put pictures as PNG or JPEG into a ZIP, a folder a class",
                  array_remedy[] = "write its arrays as NPZ, or its table as CSV",
                  packed_remedy[] = "unpack it, or send it as gz or ZIP",
                  path_remedy[] = "send the data themselves";

/* Bytes at an offset, and what a file that has them is. */
static const struct {
  size_t offset;
  const char *bytes;
  size_t count;
  const char *name, *remedy; /* remedy: NULL: it may be read */
  bool text;                 /* a text may begin so */
} signatures[] = {
#define AT(offset, literal, name, ...) \
  { offset, literal, sizeof literal - 1, name, __VA_ARGS__ }
    AT(0, "\x89PNG\r\n", "a PNG", picture_remedy, false),
    AT(0, "\xFF\xD8\xFF", "a JPEG", picture_remedy, false),
    AT(0, "GIF87a", "a GIF", picture_remedy, false),
    AT(0, "GIF89a", "a GIF", picture_remedy, false),
    AT(8, "WEBP", "a WebP", picture_remedy, true),
    AT(0, "BM", "a BMP", picture_remedy, true),
    AT(0, "II*\0", "a TIFF", picture_remedy, false),
    AT(0, "MM\0*", "a TIFF", picture_remedy, false),
    AT(4, "ftypavif", "an AVIF", picture_remedy, true),
    AT(4, "ftyphei", "a HEIC", picture_remedy, true),
    AT(4, "ftypmif1", "a HEIC", picture_remedy, true),
    AT(4, "ftyp", "a video (MP4)", picture_remedy, true),
    AT(0, "\xFF\x0A", "a JPEG XL", picture_remedy, true),
    AT(4, "JXL ", "a JPEG XL", picture_remedy, true),
    AT(4, "jP  ", "a JPEG 2000", picture_remedy, true),
    AT(0, "8BPS", "a file of Photoshop", picture_remedy, true),
    AT(0, "\0\0\1\0", "an icon (ICO)", picture_remedy, true),
    AT(128, "DICM", "a DICOM file", picture_remedy, true),
    AT(0, "%PDF-", "a PDF", table_remedy, false),
    AT(0, "\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1", "an old file of Excel or Word", table_remedy, false),
    AT(0, "SQLite format 3\0", "a database of SQLite", table_remedy, false),
    AT(0, "PAR1", "a Parquet file", table_remedy, true),
    AT(0, "ARROW1", "an Arrow file", table_remedy, true),
    AT(0, "FEA1", "a Feather file", table_remedy, true),
    AT(0, "\x89HDF\r\n", "an HDF5 file", array_remedy, false),
    AT(0, "MATLAB 5.0 MAT-file", "a file of MATLAB", array_remedy, false),
    AT(0, "\x80\4\x95", "a pickle", array_remedy, false),
    AT(0, "\x80\5\x95", "a pickle", array_remedy, false),
    AT(0, "\177ELF", "a program (ELF)", path_remedy, false),
    AT(0, "PK\3\4", "a ZIP", NULL, false),
    AT(0, "\x1F\x8B", "a gz file", NULL, false),
    AT(0, "BZh91AY&SY", "a bzip2 file", packed_remedy, false),
    AT(1, "7zXZ\0", "an xz file", packed_remedy, false),
    AT(0, "\x28\xB5\x2F\xFD", "a Zstandard file", packed_remedy, false),
    AT(0, "7z\xBC\xAF\x27\x1C", "a 7z archive", packed_remedy, false),
    AT(0, "Rar!\x1A\7", "a RAR archive", packed_remedy, false),
    AT(0, "version https://git-lfs", "a pointer of Git LFS, not the file itself", path_remedy,
       false),
#undef AT
};

/* Its number; -1: none. */
static int signature_find(const uint8_t *bytes, size_t size) {
  for (size_t i = 0; i < sizeof signatures / sizeof *signatures; i++)
    if (size >= signatures[i].offset + signatures[i].count &&
        memcmp(bytes + signatures[i].offset, signatures[i].bytes, signatures[i].count) == 0)
      return (int)i;
  return -1;
}

/* Text has no control characters but white space. */
static bool has_controls(const uint8_t *bytes, size_t size) {
  for (size_t i = 0; i < size && i < LOOKED_AT; i++)
    if (bytes[i] < ' ' && (bytes[i] == 0 || !strchr("\t\r\n\f\v", bytes[i]))) return true;
  return false;
}

ep_status ep_content_refuse(const uint8_t *bytes, size_t size, ep_error *error) {
  int found = signature_find(bytes, size);
  if (found < 0 || !signatures[found].remedy) return EP_OK;
  if (signatures[found].text && !has_controls(bytes, size)) return EP_OK;
  return ep_fail(error, EP_MEDIA_TYPE, "this is %s: %s", signatures[found].name,
                 signatures[found].remedy);
}

static bool begins(const char *text, size_t bytes, const char *word) {
  size_t count = strlen(word);
  return bytes >= count && strncasecmp(text, word, count) == 0;
}

const char *ep_content_name(const uint8_t *bytes, size_t size) {
  if (size == 0) return "an empty file";
  int found = signature_find(bytes, size);
  if (found >= 0) return signatures[found].name;
  const char *text = (const char *)bytes;
  size_t count = size < LOOKED_AT ? size : LOOKED_AT, at = 0, length;
  if (memchr(text, 0, count)) return "a file of unknown format";
  for (; at < count && (length = ep_utf8_character(text + at, count - at)) > 0; at += length) {
  }
  if (count - at > (size > count ? EP_UTF8_BYTES - 1 : 0)) return "a file of unknown format";
  if (begins(text, count, "\xEF\xBB\xBF")) text += 3, count -= 3;
  for (; count > 0 && strchr(" \t\r\n", *text); text++) count--;
  if (begins(text, count, "<!doctype html") || begins(text, count, "<html")) return "an HTML page";
  if (begins(text, count, "<svg") || begins(text, count, "<?xml")) return "XML or an SVG";
  return "text";
}
