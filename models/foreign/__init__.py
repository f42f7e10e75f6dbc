"""Nets of other programs, to and from ONNX files of ours: one module or more a family. Converting needs no torch."""
