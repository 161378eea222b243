#include "server/jobs/placement/shares.h"

#include <stdlib.h>

void ep_shares_deinit(ep_shares *shares) {
  free(shares->shares);
  *shares = (ep_shares){0};
}

ep_share *ep_shares_find(const ep_shares *shares, uint64_t owner) {
  for (int64_t i = 0; i < shares->count; i++)
    if (shares->shares[i].owner == owner && shares->shares[i].jobs > 0) return &shares->shares[i];
  return NULL;
}

/* A place that no owner has. */
static ep_share *place_find(ep_shares *shares) {
  for (int64_t i = 0; i < shares->count; i++)
    if (shares->shares[i].jobs == 0) return &shares->shares[i];
  ep_share *grown = realloc(shares->shares, (size_t)(shares->count + 1) * sizeof *grown);
  if (!grown) return NULL;
  shares->shares = grown;
  return &grown[shares->count++];
}

bool ep_shares_add(ep_shares *shares, uint64_t owner) {
  ep_share *share = ep_shares_find(shares, owner);
  if (!share) {
    share = place_find(shares);
    if (!share) return false;
    *share = (ep_share){.owner = owner};
  }
  share->jobs++;
  return true;
}

void ep_shares_remove(ep_shares *shares, uint64_t owner) {
  ep_share *share = ep_shares_find(shares, owner);
  if (share) share->jobs--;
}
