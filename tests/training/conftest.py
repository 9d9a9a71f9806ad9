"""One thread: the networks here are far too small for more, and cores may be shared."""

import torch

torch.set_num_threads(1)
