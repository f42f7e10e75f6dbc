"""Text protocols and the engine: adapters that GUIs talk to, and clients that drive other engines."""
