"""The only import of numba, and what kernels of every game share: sets of bits, random numbers, keys."""
