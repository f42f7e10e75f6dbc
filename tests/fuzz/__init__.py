"""Fuzzers: mutated input for a chosen time from a chosen seed, each with an oracle that says what must hold.

A few seconds each by default. ``AZ_ENGINE_FUZZ_MINUTES=30 AZ_ENGINE_FUZZ_SEED=7 ./test tests/fuzz -rP`` takes half an
hour of CPU for each and shows the reports. A failure names its case: ``AZ_ENGINE_FUZZ_SEED=7:123`` runs that one alone.
"""
