/* exported.c: how long one row of an exported C header takes. Compiled with -DHEADER='"net.h"' and,
 * as the header's own names are, -DPREDICT=net_predict -DSELF_TEST=net_self_test
 * -DINPUTS=NET_INPUTS -DOUTPUTS=NET_OUTPUTS. Prints nanoseconds of processor time a row: the least
 * of several rounds. */
#include HEADER

#include <stdio.h>
#include <time.h>

enum { ROWS = 1024, PASSES = 200, ROUNDS = 15 };

static double seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

int main(void) {
  static double x[ROWS][INPUTS];
  float y[OUTPUTS], sum = 0;
  double least = 1;
  if (SELF_TEST() != 0) {
    puts("the header does not predict what the daemon predicts");
    return 1;
  }
  for (int i = 0; i < ROWS; i++)
    for (int j = 0; j < INPUTS; j++) x[i][j] = (i * 31 + j * 17) % 101 / 50.0 - 1;
  for (int round = 0; round < ROUNDS; round++) {
    double begun = seconds();
    for (int pass = 0; pass < PASSES; pass++)
      for (int i = 0; i < ROWS; i++) {
        PREDICT(x[i], y);
        sum += y[0];
      }
    double each = (seconds() - begun) / (PASSES * ROWS);
    if (each < least) least = each;
  }
  fprintf(stderr, "%g\n", (double)sum); /* so that no row is left out */
  printf("%.0f\n", least * 1e9);
  return 0;
}
