"""Lock, replay and prove distributed training runs."""

__version__ = "0.1.0"
