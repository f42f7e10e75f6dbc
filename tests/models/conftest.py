"""What holds for all tests of training."""

from __future__ import annotations

import torch

torch.set_num_threads(1)  # as the commands do by default: another number sums in another order, and other bits come out
