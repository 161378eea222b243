/* rm.c: epochctl data rm. */
#include "clients/epochctl/client/collection.h"
#include "clients/epochctl/commands/table.h"

static ep_status subcommand_run(ep_client *client, const ep_arguments *arguments, ep_error *error) {
  return ep_collection_delete(client, arguments, "/v1/datasets", "deleted", error);
}

/* clang-format off */
const ep_subcommand ep_subcommand_data_rm = {
  .name = "data rm", .words = "NAME…", .kind = EP_WORD_DATASET, .least = 1, .most = -1,
  .run = subcommand_run,
  .summary = "delete data sets",
  .details = "Fails while a job needs it."};
/* clang-format on */
