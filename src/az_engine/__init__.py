"""az-engine: AlphaZero and AlphaGo Zero as an engine for chess, shogi and Go."""

import os

__version__ = "0.1.0"

# onnxruntime's official builds keep and send telemetry, from a thread of their own
os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
