"""Nets that onnxruntime runs."""
