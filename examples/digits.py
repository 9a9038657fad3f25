"""Digits: images, seen through windows and through an autoencoder.

Run it as a script (``python examples/digits.py [FOLDER]``; pictures go to FOLDER, or to a temporary one),
or cell by cell in an editor that knows ``# %%``. It needs ``pip install 'counterpoint[torch,plot]'``.
"""

# %% [markdown]
# # What would make this 3 a 9?
# The images are handwritten digits with 8 × 8 grey levels. A small convolutional network learns to read them.

# %%
from __future__ import annotations

import sys
from pathlib import Path
from tempfile import mkdtemp

import numpy as np
import torch
from sklearn.datasets import load_digits
from torch import nn

import counterpoint as cp

folder = Path(*[name for name in sys.argv[1:2] if not name.startswith("-")] or [mkdtemp()])
folder.mkdir(parents=True, exist_ok=True)

digits = load_digits()
images = (digits.images / 16).astype(np.float32)
X_train, X_test, y_train, y_test = images[:1400], images[1400:], digits.target[:1400], digits.target[1400:]

torch.manual_seed(0)
torch.set_num_threads(1)  # for such a small network, several threads are slower than one
network = nn.Sequential(
    nn.Conv2d(1, 16, 3, padding=1),
    nn.ReLU(),
    nn.MaxPool2d(2),
    nn.Conv2d(16, 32, 3, padding=1),
    nn.ReLU(),
    nn.Flatten(),
    nn.Linear(32 * 4 * 4, 10),
)
optimiser = torch.optim.Adam(network.parameters(), lr=5e-3)
inputs, labels = torch.from_numpy(X_train[:, None]), torch.from_numpy(y_train)
for _ in range(8):
    for batch in torch.randperm(len(inputs)).split(100):
        optimiser.zero_grad()
        nn.functional.cross_entropy(network(inputs[batch]), labels[batch]).backward()
        optimiser.step()


def read(pictures: np.ndarray) -> np.ndarray:
    """Return the digits that the network reads."""
    with torch.no_grad():
        return np.asarray(network(torch.from_numpy(pictures[:, None])).argmax(dim=1))


print(f"The network reads {(read(X_test) == y_test).mean():.0%} of {len(X_test)} digits correctly.")
three = X_test[(y_test == 3) & (read(X_test) == 3)][0]

# %% [markdown]
# ## Windows
# `cp.Kernel(2)` divides an image into windows of 2 × 2 pixels. Only whole windows change, and all others
# stay the same to the last bit. `fit` takes the network itself, and finds out which input shape it expects.

# %%
windows = cp.Ensemble(codec=cp.Kernel(2)).fit(network, X_train)
by_windows = windows.explain(three, k=4, target=9)
print(f"\n{by_windows}\n")
for sentence in by_windows.sentences():
    print(f"- {sentence}")
by_windows.plot().savefig(folder / "digits-windows.png")

# %% [markdown]
# A mask holds cells fixed. Here only the upper half may change: a 9 is a 3 that is closed on the upper left.

# %%
lower = np.zeros((8, 8), dtype=bool)
lower[4:] = True
upper_only = cp.Ensemble(codec=cp.Kernel(2)).fit(network, X_train, immutable=lower)
closed = upper_only.explain(three, k=4, target=9)
moved = (closed.counterfactuals != three).any(axis=0)
print(f"\nIn the upper half alone, {len(closed)} of 4 are found; ", end="")
print(f"they change {moved[:4].sum()} pixels of the upper half and {moved[4:].sum()} of the lower.")

# %% [markdown]
# ## What digits are like
# With windows the network sees a 9, but people do not. An autoencoder learns to describe each digit by four
# numbers, and what it decodes looks like a digit. Thirty epochs are quick; without `epochs`, training takes
# longer and keeps more detail. Once trained, it can be used by any number of explainers.

# %%
autoencoder = cp.Autoencoder(4, epochs=30, progress=False).fit(X_train)
print(f"\nThe autoencoder: {autoencoder.report_}.")
whole = cp.Ensemble(codec=autoencoder).fit(network, X_train)
by_likeness = whole.explain(three, k=4, target=9)
by_likeness.plot().savefig(folder / "digits-autoencoder.png")


def away_from_digits(found: cp.Explanation) -> float:
    """Measure how far counterfactuals are from the nearest known digit, on average."""
    apart = found.counterfactuals[:, None] - X_train[None]
    return float(np.sqrt((apart**2).sum(axis=(2, 3))).min(axis=1).mean())


for name, found in {"windows": by_windows, "autoencoder": by_likeness}.items():
    agreed = (read(found.counterfactuals) == 9).sum()
    print(f"{name}: {agreed} of {len(found)} are read as 9, ", end="")
    print(f"{found.distance.mean():.2f} from x, {away_from_digits(found):.2f} from the nearest known digit.")

# %% [markdown]
# ## Many images
# Which digit does each one become if little changes?

# %%
some = X_test[:40]
many = windows.explain_many(some, k=1, progress=False)
decided = read(some)
became = read(np.concatenate([each.counterfactuals for each in many]))
print(
    f"\n{len(became)} of {len(some)} have a counterfactual, {(became != decided).sum()} are read differently."
)
pairs, counts = np.unique(np.stack([decided, became]), axis=1, return_counts=True)
for index in np.argsort(-counts, kind="stable")[:5]:
    print(f"{counts[index]} times a {pairs[0, index]} became a {pairs[1, index]}.")
print(f"\nWrote {folder / 'digits-windows.png'} and {folder / 'digits-autoencoder.png'}.")
