/* page.h: the part of the jobs that a list shows. */
#ifndef EP_SERVER_STORE_PAGE_H
#define EP_SERVER_STORE_PAGE_H

#include <stdbool.h>
#include <stdint.h>

/* Who looks, or refers to a thing. What is private and another owner's does not exist for one who
 * is limited. {0} sees everything. */
typedef struct {
  const char *owner; /* lent; NULL = nobody */
  bool limited;      /* has no scope "admin" */
} ep_viewer;

/* Newest first. The texts are lent. */
typedef struct {
  int state;               /* -1 = any */
  const char *prefix;      /* of the ids (api/names.h); NULL = of jobs and of sweeps */
  const char *after;       /* only older ones than this id; NULL = from the newest on */
  int64_t limit;           /* of jobs */
  const char *const *tags; /* [tags_count]: only jobs with all of them */
  int tags_count;
  const char *owner;  /* NULL = of any */
  ep_viewer viewer;   /* whom it is for */
  const char *search; /* NULL = any: in the name, the id, the dataset's name or a tag, without
                         regard to the case of A to Z */
  bool summary;       /* without specs and long metrics */
} ep_job_page;

#endif
