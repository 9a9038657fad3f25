"""Codecs ζ and η: how images and series become rows, one file each."""

from counterpoint.codecs.base import Codec, LocalCodec, SavedCodec, Signals
from counterpoint.codecs.identity import Identity
from counterpoint.codecs.kernel import Kernel

__all__ = ["Codec", "Identity", "Kernel", "LocalCodec", "SavedCodec", "Signals"]
