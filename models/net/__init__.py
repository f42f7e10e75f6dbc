"""One network: torch module, export to ONNX, quantisation, card."""
