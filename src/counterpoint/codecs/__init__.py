"""Codecs ζ and η: how images and series become rows, one file each."""

from counterpoint.codecs.autoencoder import Autoencoder
from counterpoint.codecs.base import Codec, LocalCodec, SavedCodec, Signals
from counterpoint.codecs.identity import Identity
from counterpoint.codecs.kernel import Kernel
from counterpoint.codecs.linear import PCA

__all__ = ["PCA", "Autoencoder", "Codec", "Identity", "Kernel", "LocalCodec", "SavedCodec", "Signals"]
