#include "kernels/cuda/executors/images/plan.h"

#include "kernels/cuda/executors/images/parts.h"
#include "kernels/plans/work.h"

/* The kernels are the plug-in's own: what they are compiled for must know bfloat16 and TF32, too.
 */
static bool accepts(const ep_program *program, const ep_device_traits *device) {
  return (ep_gpu_features(device->gpu.generation) & EP_GPU_AMPERE) && ep_images_takes(program);
}

/* A row's multiply-adds, forward and back, as they are computed: groups as if all channels met. */
static double multiply_adds(const ep_program *program) {
  double sum = 0;
  bool first = true;
  for (int i = 0; i < program->ops_count; i++) {
    const ep_op *op = &program->ops[i];
    if (op->type != EP_LAYER_CONV2D) continue;
    sum += (double)ep_op_products(op) * (double)op->groups * (first ? 2 : 3);
    first = false;
  }
  return sum;
}

/* How many products of bfloat16 one is as dear as, and how many values of bfloat16 one. In float32
 * each product is three of TF32, and what is multiplied is written in three parts. */
static const double products_each[] = {
    [EP_PRECISION_FP32] = 6, [EP_PRECISION_TF32] = 2, [EP_PRECISION_BF16] = 1};
static const double values_each[] = {
    [EP_PRECISION_FP32] = 6, [EP_PRECISION_TF32] = 2, [EP_PRECISION_BF16] = 1};
enum { SPLITS = 4 }; /* launches of a convolution's in float32 besides */

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
  ep_network_work sum = ep_program_work(program);
  double n = (double)rows;
  units[0] = 1;
  units[1] = launches(program);
  units[2] = n * multiply_adds(program) * products_each[program->precision];
  units[3] = n * sum.values * values_each[program->precision];
  units[4] = n * (sum.wide + sum.thin);
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
    .terms = {{"step", 1e-5},
              {"launches", 2e-6},
              {"multiply-adds of convolutions", 4.5e-15},
              {"values", 7e-13},
              {"multiply-adds of linear layers", 1e-13},
              {"updated parameters", 1e-11}},
    .start_seconds = 0.3,
    .again_seconds = 0.02,
    EP_CALIBRATION_PROGRAMS(programs),
};
