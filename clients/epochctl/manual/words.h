/* words.h: the texts that help, the manual page and the reference share. */
#ifndef EP_CLIENTS_EPOCHCTL_MANUAL_WORDS_H
#define EP_CLIENTS_EPOCHCTL_MANUAL_WORDS_H

#include "clients/epochctl/client/subcommand.h"

/* A term and its text; a NULL name ends a list. */
typedef struct {
  const char *name, *text;
} ep_manual_row;

extern const char EP_MANUAL_PURPOSE[];
extern const char EP_MANUAL_JOBS[]; /* the word JOB */
extern const ep_manual_row EP_MANUAL_ENVIRONMENT[];
extern const ep_manual_row EP_MANUAL_EXIT_STATUSES[];

enum { EP_MANUAL_TITLE_BYTES = 128 };

/* The subcommand's name and words: "data put NAME FILE…". */
void ep_manual_title(const ep_subcommand *subcommand, char title[EP_MANUAL_TITLE_BYTES]);

#endif
