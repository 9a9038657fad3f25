"""Start a worker, from the folder this file is in."""

import importlib
import sys
from pathlib import Path

HERE = Path(__file__).parent

if __name__ == "__main__":
    # As a package, so that no module here hides one of a peer's of the same name.
    sys.path[:] = [path for path in sys.path if path != str(HERE)] + [str(HERE.parent)]
    importlib.import_module(f"{HERE.name}.loop").main(Path(sys.argv[1]), int(sys.argv[2]))
