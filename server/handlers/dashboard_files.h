/* dashboard_files.h: the files of clients/dashboard, built into the program: as they are, and
 * compressed. The table is made at build time by clients/dashboard/assets.cmake. */
#ifndef EP_SERVER_HANDLERS_DASHBOARD_FILES_H
#define EP_SERVER_HANDLERS_DASHBOARD_FILES_H

typedef struct {
  const char *name; /* "index.html"; others as they stand below /assets/: "views/jobs/jobs.js" */
  const char *type; /* Content-Type */
  const char *hash; /* of the bytes, 32 hexadecimal digits */
  const unsigned char *bytes, *gzip;
  unsigned long bytes_count, gzip_count;
} ep_asset;

/* Ends with a row whose name is NULL, which is the only one in a build without a dashboard. */
extern const ep_asset EP_ASSETS[];

#endif
