/* examples.h: jobs and studies that are ready to run, embedded at build time. */
#ifndef EP_CLIENTS_EPOCHCTL_EXAMPLES_EXAMPLES_H
#define EP_CLIENTS_EPOCHCTL_EXAMPLES_EXAMPLES_H

/* X(name, of the file and for users; name in C; summary; the required data set, or "") */
#define EP_EXAMPLE_TABLE(X)                                                                       \
  X("xor", xor, "the four rows of XOR, two layers", "")                                           \
  X("linear", linear, "a straight line through 20 points, given in the job", "")                  \
  X("logistic", logistic, "passed or not, by hours of study: logistic regression", "")            \
  X("disc", disc, "points inside and outside a circle, a hidden layer", "")                       \
  X("early-stopping", early_stopping, "the same, with early stopping", "")                        \
  X("houses", houses, "a price from a table, with standardized columns",                          \
    "houses: a CSV with a "                                                                       \
    "column price")                                                                               \
  X("mnist", mnist, "handwritten digits, a small convolutional network", "mnist: its four files") \
  X("mnist-tuned", mnist_tuned, "the same with batch norm, AdamW, one_cycle, shifts",             \
    "mnist: its four files")                                                                      \
  X("doubling", doubling, "a study: networks that double, for epochctl sweep", "")                \
  X("rows-nodes-depth", rows_nodes_depth, "a study: five configurations, for epochctl sweep", "")

/* The text of NAME.json, ending in 0. */
#define EP_EXAMPLE_TEXT(file, name, summary, needs) extern const unsigned char ep_example_##name[];
EP_EXAMPLE_TABLE(EP_EXAMPLE_TEXT)

#endif
