"""Codecs ζ and η, which turn images and series into rows and back, one file each."""

from counterpoint.codecs.autoencoder import Autoencoder
from counterpoint.codecs.base import Codec, LocalCodec, SavedCodec, Signals
from counterpoint.codecs.identity import Identity
from counterpoint.codecs.kernel import Kernel
from counterpoint.codecs.pca import PCA

__all__ = ["PCA", "Autoencoder", "Codec", "Identity", "Kernel", "LocalCodec", "SavedCodec", "Signals"]
