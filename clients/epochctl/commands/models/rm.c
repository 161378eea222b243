/* rm.c: epochctl models rm. */
#include "clients/epochctl/client/collection.h"
#include "clients/epochctl/commands/table.h"

static ep_status subcommand_run(ep_client *client, const ep_arguments *arguments, ep_error *error) {
  return ep_collection_delete(client, arguments, "/v1/models", "taken back", error);
}

/* clang-format off */
const ep_subcommand ep_subcommand_models_rm = {
  .name = "models rm", .words = "NAME…", .kind = EP_WORD_MODEL, .least = 1, .most = -1,
  .run = subcommand_run,
  .summary = "unpublish models; their jobs stay"};
/* clang-format on */
