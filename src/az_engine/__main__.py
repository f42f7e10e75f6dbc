"""``python -m az_engine``."""

from .cli import main

raise SystemExit(main())
