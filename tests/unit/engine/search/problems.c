#include "tests/unit/engine/search/problems.h"

#include <math.h>

static const double PI = 3.14159265358979323846;

static double branin(const double *point) {
  double x = point[0], y = point[1];
  double curve = y - 5.1 / (4 * PI * PI) * x * x + 5 / PI * x - 6;
  return curve * curve + 10 * (1 - 1 / (8 * PI)) * cos(x) + 10;
}

/* Of a learning rate and a weight decay: too much of the first diverges. */
static double valley(const double *point) {
  double lr = log10(point[0]) + 2.3, decay = log10(point[1]) + 4 + 0.5 * lr;
  double loss = (lr < 0 ? 0.35 : 0.8) * lr * lr + 0.15 * decay * decay;
  return lr > 1.3 ? loss + 3 : loss;
}

static double hartmann6(const double *point) {
  static const double ALPHA[4] = {1, 1.2, 3, 3.2};
  static const double A[4][6] = {{10, 3, 17, 3.5, 1.7, 8},
                                 {0.05, 10, 17, 0.1, 8, 14},
                                 {3, 3.5, 1.7, 10, 17, 8},
                                 {17, 8, 0.05, 10, 0.1, 14}};
  static const double P[4][6] = {{0.1312, 0.1696, 0.5569, 0.0124, 0.8283, 0.5886},
                                 {0.2329, 0.4135, 0.8307, 0.3736, 0.1004, 0.9991},
                                 {0.2348, 0.1451, 0.3522, 0.2883, 0.3047, 0.6650},
                                 {0.4047, 0.8828, 0.8732, 0.5743, 0.1091, 0.0381}};
  double sum = 0;
  for (int i = 0; i < 4; i++) {
    double square = 0;
    for (int j = 0; j < 6; j++) square += A[i][j] * (point[j] - P[i][j]) * (point[j] - P[i][j]);
    sum -= ALPHA[i] * exp(-square);
  }
  return sum;
}

/* Of an optimizer, layers, units and a learning rate, whose best depends on the optimizer. */
static double mixed(const double *point) {
  static const double COST[5] = {0.5, 0, 0.15, 0.8, 0.3}, BEST_LR[5] = {-2, -3, -2.8, -1.7, -2.5};
  int optimizer = (int)point[0];
  double lr = log10(point[3]) - BEST_LR[optimizer], layers = point[1] - 3, units = log2(point[2]);
  return COST[optimizer] + 0.05 * layers * layers + 0.1 * (units - 7) * (units - 7) + 0.6 * lr * lr;
}

static double levy(const double *point) {
  double w[3];
  for (int i = 0; i < 3; i++) w[i] = 1 + (point[i] - 1) / 4;
  double sum = pow(sin(PI * w[0]), 2);
  for (int i = 0; i < 2; i++) sum += pow(w[i] - 1, 2) * (1 + 10 * pow(sin(PI * w[i] + 1), 2));
  return sum + pow(w[2] - 1, 2) * (1 + pow(sin(2 * PI * w[2]), 2));
}

static double goldstein_price(const double *point) {
  double x = point[0], y = point[1], a = x + y + 1, b = 2 * x - 3 * y;
  double left = 19 - 14 * x + 3 * x * x - 14 * y + 6 * x * y + 3 * y * y;
  double right = 18 - 32 * x + 12 * x * x + 48 * y - 36 * x * y + 27 * y * y;
  return log((1 + a * a * left) * (30 + b * b * right));
}

/* Of eight axes, of which one is of no use and some are of little. */
static double network(const double *point) {
  static const double COST[4] = {0.1, 0.4, 0, 0.4};
  int optimizer = (int)point[1];
  double lr = log10(point[0]) + (optimizer == 2 ? 2.6 : 3);
  return 0.4 * lr * lr + COST[optimizer] + 0.08 * fabs(point[2] - 6) +
         0.5 * (point[3] - 0.2) * (point[3] - 0.2) + 0.02 * sin(point[4]) +
         0.05 * fabs(log2(point[6]) - 5) + (point[7] == 3 ? 0 : 0.1);
}

static double lists(const double *point) {
  return 0.1 * (((int)point[0] * 5 + 3) % 12) + 0.1 * (((int)point[1] * 7 + 1) % 12) +
         0.02 * fabs(point[2] - 29);
}

#define UNIFORM(low, high) \
  { EP_AXIS_UNIFORM, 0, low, high }
#define LOG_UNIFORM(low, high) \
  { EP_AXIS_LOG_UNIFORM, 0, low, high }
#define INT_UNIFORM(low, high) \
  { EP_AXIS_INT_UNIFORM, 0, low, high }
#define INT_LOG_UNIFORM(low, high) \
  { EP_AXIS_INT_LOG_UNIFORM, 0, low, high }
#define VALUES(count) \
  { EP_AXIS_VALUES, count, 0, 0 }
#define UNIT UNIFORM(0, 1)

const search_problem search_problems[] = {
    /* The constants of tpe.c were chosen by these four, among others … */
    {"branin", branin, 0.397887, 2, {UNIFORM(-5, 10), UNIFORM(0, 15)}},
    {"valley", valley, 0, 2, {LOG_UNIFORM(1e-6, 10), LOG_UNIFORM(1e-8, 1)}},
    {"hartmann6", hartmann6, -3.32237, 6, {UNIT, UNIT, UNIT, UNIT, UNIT, UNIT}},
    {"mixed",
     mixed,
     0,
     4,
     {VALUES(5), INT_UNIFORM(1, 8), INT_LOG_UNIFORM(8, 1024), LOG_UNIFORM(1e-5, 1)}},
    /* … and by these no more than CANDIDATES. */
    {"levy", levy, 0, 3, {UNIFORM(-10, 10), UNIFORM(-10, 10), UNIFORM(-10, 10)}},
    {"goldstein-price", goldstein_price, 1.098612, 2, {UNIFORM(-2, 2), UNIFORM(-2, 2)}},
    {"network",
     network,
     -0.02,
     8,
     {LOG_UNIFORM(1e-6, 1), VALUES(4), INT_UNIFORM(1, 12), UNIT, UNIFORM(0, 10), VALUES(6),
      INT_LOG_UNIFORM(4, 4096), VALUES(5)}},
    {"lists", lists, 0, 3, {VALUES(12), VALUES(12), INT_UNIFORM(1, 40)}},
};
const int search_problems_count = sizeof search_problems / sizeof *search_problems;
