/* denormals.h: arithmetic with numbers below the least normal one. */
#ifndef EP_KERNELS_CPU_RUNTIME_DENORMALS_H
#define EP_KERNELS_CPU_RUNTIME_DENORMALS_H

/* Lets the calling thread read and write such numbers as zeros. Processors take 10 to 100 times as
 * long for them, and a network that is sure of its classes is full of them: exp(-90), gradients,
 * moments of Adam that decay. Each thread that computes calls it, so that a prediction has the bits
 * of the evaluation in its training. Nothing where the processor is neither an x86 nor an ARM of 64
 * bits. */
void ep_denormals_flush(void);

#endif
