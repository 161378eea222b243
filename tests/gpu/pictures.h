/* pictures.h: images with channels enough for cuda/images. */
#ifndef EP_TESTS_GPU_PICTURES_H
#define EP_TESTS_GPU_PICTURES_H

#include "tests/unit/kernels/programs.h"

int ep_picture_case_count(void);
ep_case *ep_picture_case_create(int number); /* the caller destroys it */

/* Pictures of the size of CIFAR's, through four convolutions. */
ep_case *ep_picture_benchmark_create(const char *name, const ep_case_training *training);

#endif
