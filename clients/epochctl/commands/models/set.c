/* set.c: epochctl models set. */
#include "api/visibility.h"
#include "clients/epochctl/client/collection.h"
#include "clients/epochctl/commands/table.h"

static ep_status subcommand_run(ep_client *client, const ep_arguments *arguments, ep_error *error) {
  return ep_collection_show(client, arguments, "/v1/models", error);
}

/* clang-format off */
static const ep_option OPTIONS[] = {
  {.name = "visibility", .kind = EP_OPTION_CHOICE, .value = EP_VISIBILITY_CHOICE,
   .doc = "private: visible only to its owner and admins"},
  {.name = NULL}};

const ep_subcommand ep_subcommand_models_set = {
  .name = "models set", .words = "NAME…", .kind = EP_WORD_MODEL, .least = 1, .most = -1,
  .options = OPTIONS, .run = subcommand_run,
  .summary = "change the visibility of published models",
  .examples = "epochctl models set digits --visibility private"};
/* clang-format on */
