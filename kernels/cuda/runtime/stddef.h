/* stddef.h, for kernels compiled at run time: what is needed of it is built in. */
#pragma once
