/* table.h: the subcommands of epochctl. Each is a file that defines ep_subcommand_NAME: its words,
 * options, help and function. */
#ifndef EP_CLIENTS_EPOCHCTL_COMMANDS_TABLE_H
#define EP_CLIENTS_EPOCHCTL_COMMANDS_TABLE_H

#include "clients/epochctl/client/subcommand.h"

/* X(name in C), in the order of help; table.c has its groups. */
#define EP_SUBCOMMAND_TABLE(X) \
  X(train)                     \
  X(predict)                   \
  X(sweep)                     \
  X(run)                       \
  X(validate)                  \
  X(find_lr)                   \
  X(example)                   \
  X(ls)                        \
  X(show)                      \
  X(watch)                     \
  X(plot)                      \
  X(layers)                    \
  X(compare)                   \
  X(pause)                     \
  X(resume)                    \
  X(cancel)                    \
  X(rm)                        \
  X(set)                       \
  X(checkpoints)               \
  X(weights)                   \
  X(sweeps_ls)                 \
  X(sweeps_show)               \
  X(sweeps_promote)            \
  X(data_put)                  \
  X(data_ls)                   \
  X(data_show)                 \
  X(data_head)                 \
  X(data_rm)                   \
  X(data_set)                  \
  X(models_publish)            \
  X(models_ls)                 \
  X(models_rm)                 \
  X(models_set)                \
  X(devices)                   \
  X(queue)                     \
  X(token_add)                 \
  X(token_list)                \
  X(token_remove)              \
  X(completion)                \
  X(help)

#define EP_SUBCOMMAND_DECLARE(name) extern const ep_subcommand ep_subcommand_##name;
EP_SUBCOMMAND_TABLE(EP_SUBCOMMAND_DECLARE)
#undef EP_SUBCOMMAND_DECLARE

extern const ep_subcommand_table EP_SUBCOMMANDS;

/* A row of options, of what prints CSV as the server sends it: ?spreadsheet=1. */
/* clang-format off */
#define EP_SPREADSHEET_OPTION                     \
  {.name = "spreadsheet", .kind = EP_OPTION_SWITCH, \
   .doc = "CSV for a spreadsheet: an apostrophe before texts that it would run as formulas (= + - @)"}
/* clang-format on */

#endif
