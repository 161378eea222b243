/* synonyms.h: words of a job as other programs have them, for those who bring their habits along.
 */
#ifndef EP_API_JSON_SYNONYMS_H
#define EP_API_JSON_SYNONYMS_H

/* The one of names[count] (NULL entries are passed over) that others call `name`, or NULL. */
const char *ep_synonym_find(const char *name, const char *const *names, int count);

typedef struct {
  const char *given, *object, *field; /* `given` is "object": {"field": …} */
} ep_misplaced_field;

/* Where a field stands that is none of names[count]: in an object that is one of them. NULL:
 * unknown. */
const ep_misplaced_field *ep_misplaced_find(const char *name, const char *const *names, int count);

#endif
