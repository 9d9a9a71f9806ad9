// The kernels: a forward and a backward pass for each cell. They take records by name and check
// nothing: `fused/dispatch.py` has checked types and shapes before.
#include "backward.h"

#define KERNELS(cell, name)                                                                         \
    void forward_##name(const struct Call *call) { forward(call, cell); }                           \
    void backward_##name(const struct Call *call) { backward(call, cell); }

KERNELS(ELMAN, elman) KERNELS(RELU, relu) KERNELS(GRU, gru) KERNELS(LSTM, lstm)
