"""Networks in torch: training, export to ONNX and quantisation. Never imported for playing."""
