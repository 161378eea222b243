/* word_hash.h: the bucket of a word among few. */
#ifndef EP_ENGINE_DATA_COLUMNS_WORD_HASH_H
#define EP_ENGINE_DATA_COLUMNS_WORD_HASH_H

#include <stdint.h>

typedef struct {
  int64_t index; /* 0 … buckets - 1 */
  double sign;   /* 1 or -1, so that words of one bucket cancel each other out on the average */
} ep_word_bucket;

/* The same that scikit-learn's FeatureHasher gives: of MurmurHash3 (A. Appleby, x86, 32 bits, seed
 * 0) of the word's bytes the magnitude chooses the bucket, and the sign the sign. */
ep_word_bucket ep_word_bucket_of(const char *word, int64_t buckets);

#endif
