#include "kernels/cuda/executors/images/plan.h"

#include "kernels/cuda/executors/images/parts.h"
#include "kernels/plans/work.h"

/* The kernels are the plug-in's own: what they are compiled for must know bfloat16 and TF32, too.
 */
static bool accepts(const ep_program *program, const ep_device_traits *device) {
  return (ep_gpu_features(device->gpu.generation) & EP_GPU_AMPERE) && ep_images_takes(program);
}

static double up(int64_t count, double unit) {
  return ep_rounded_up((double)count, unit);
}

/* What a row takes, forward and back. */
typedef struct {
  double products; /* multiply-adds, tiles' corners and all channels of other groups among them */
  double values;   /* read and written; what computes counts as several */
} row_work;

static void convolution_add(const ep_op *op, bool first, bool precise, row_work *sum) {
  const double few = 4, tile = 16, pack = 8;
  const double window = (double)op->kernel[0] * op->kernel[1];
  const double pixels = (double)op->out.height * (double)op->out.width;
  const bool patched = first && !precise && (double)op->in.channels <= few;
  const double deep = patched ? ep_rounded_up((double)op->in.channels * window, tile)
                              : up(op->in.channels, tile) * window;
  sum->products += up(op->out.channels, tile) * deep * pixels * (first ? 2 : 3);
  sum->values += up(op->out.channels, pack) * pixels;
  if (patched) sum->values += deep * pixels;
}

static row_work row_work_of(const ep_program *program) {
  const double activation = 3, layer_norm = 16;
  row_work sum = {0, (double)program->in_features};
  bool first = true;
  for (int i = 0; i < program->ops_count && program->ops[i].type != EP_LAYER_FLATTEN; i++) {
    const ep_op *op = &program->ops[i];
    const double values = (double)op->out_features;
    switch (op->type) {
    case EP_LAYER_CONV2D:
      convolution_add(op, first, program->precision == EP_PRECISION_FP32, &sum);
      first = false;
      break;
    case EP_LAYER_RELU: break; /* with what stands before it */
    case EP_LAYER_MAX_POOL2D:
    case EP_LAYER_AVG_POOL2D: sum.values += values * op->kernel[0] * op->kernel[1] / 2; break;
    case EP_LAYER_LAYER_NORM: sum.values += layer_norm * values; break;
    case EP_LAYER_BATCH_NORM:
    case EP_LAYER_ADD:
    case EP_LAYER_DROPOUT:
    case EP_LAYER_DROPOUT2D:
    case EP_LAYER_ADAPTIVE_AVG_POOL2D: sum.values += values; break;
    default: sum.values += activation * values;
    }
  }
  return sum;
}

/* How many products of bfloat16 one is as dear as, and how many values one. In float32 each product
 * is three of TF32, and what is multiplied is written in parts. */
static const double products_each[] = {
    [EP_PRECISION_FP32] = 20, [EP_PRECISION_TF32] = 6, [EP_PRECISION_BF16] = 1};
static const double values_each[] = {
    [EP_PRECISION_FP32] = 1.5, [EP_PRECISION_TF32] = 1.3, [EP_PRECISION_BF16] = 1};
static const double linear_each[] = {
    [EP_PRECISION_FP32] = 1, [EP_PRECISION_TF32] = 0.1, [EP_PRECISION_BF16] = 0.1};
enum { SPLITS = 1 }; /* launches of a convolution's in float32 besides: a blend splits, too */

static double launches(const ep_program *program) {
  double count = ep_program_launches(program);
  for (int i = 0; i < program->ops_count; i++)
    if (program->ops[i].type == EP_LAYER_CONV2D && program->precision == EP_PRECISION_FP32)
      count += SPLITS;
  return count;
}

static void work(const ep_program *program, const ep_device_traits *device, int64_t rows,
                 double units[EP_LIMIT_COST_TERMS]) {
  (void)device;
  const ep_network_work sum = ep_program_work(program);
  const row_work row = row_work_of(program);
  const double n = (double)rows;
  units[0] = 1;
  units[1] = launches(program);
  units[2] = n * row.products * products_each[program->precision];
  units[3] = n * row.values * values_each[program->precision];
  units[4] = n * (sum.wide + sum.thin) * linear_each[program->precision];
  units[5] = ep_program_updated(program);
}

static const ep_calibration_program programs[] = {
    {.in_features = 32,
     .width = 64,
     .hidden = 2,
     .rows = 256,
     .side = 16,
     .precision = EP_PRECISION_BF16},
};

const ep_executor_profile ep_cuda_images_profile = {
    .name = "cuda/images",
    .capabilities = {EP_CAPABLE_NETWORK_LAYERS, EP_CAPABLE_ELEMENT_LOSSES | EP_CAPABLE_CLASS_LOSSES,
                     EP_CAPABLE_OPTIMIZERS},
    .gpu_features = EP_GPU_AMPERE,
    .accepts = accepts,
    .work = work,
    .terms = {{"step", 1e-6},
              {"launches", 6.3e-6},
              {"multiply-adds of convolutions", 1.7e-15},
              {"values", 3.2e-12},
              {"multiply-adds of linear layers", 2.4e-13},
              {"updated parameters", 6.8e-12}},
    .start_seconds = 0.3,
    .again_seconds = 0.02,
    EP_CALIBRATION_PROGRAMS(programs),
};
