// The kernels: a forward and a backward pass for each cell. They take records by name and check
// nothing: `fused/dispatch.py` has checked types and shapes before.
#include "backward.h"

void forward_elman(const struct Call *call) { forward(call, ELMAN); }
void forward_relu(const struct Call *call) { forward(call, RELU); }
void forward_gru(const struct Call *call) { forward(call, GRU); }
void forward_lstm(const struct Call *call) { forward(call, LSTM); }

void backward_elman(const struct Call *call) { backward(call, ELMAN); }
void backward_relu(const struct Call *call) { backward(call, RELU); }
void backward_gru(const struct Call *call) { backward(call, GRU); }
void backward_lstm(const struct Call *call) { backward(call, LSTM); }
