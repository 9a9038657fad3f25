"""Models that live elsewhere: what is sent to them, by which protocol, and how often it is tried."""

from __future__ import annotations

from counterpoint.model.adapters.remote.model import RemoteModel

__all__ = ["RemoteModel"]
