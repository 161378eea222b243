/* cases_images.h: the cases of cases.c with images, batch_norm and residual layers.
 * Private to it. */
#ifndef EP_TESTS_KERNELS_CASES_IMAGES_H
#define EP_TESTS_KERNELS_CASES_IMAGES_H

#include "tests/unit/kernels/programs.h"

/* One window each, of conv2d and every pool, at awkward sizes. */
enum { EP_CASE_CONVS = 17, EP_CASE_POOLS = 18, EP_CASE_WINDOWS = EP_CASE_CONVS + EP_CASE_POOLS };
ep_case *ep_case_create_window(int number);

/* Small networks of several kinds of layers, and what their data can be. */
enum { EP_CASE_IMAGE_NETS = 24 };
ep_case *ep_case_create_image_net(int number);

#endif
