"""What runs in a peer's own environment: ``python WORKER_FOLDER JOB_FOLDER CONNECTION``.

It needs Python 3.11, NumPy and pandas of almost any age, and the peer's package; none of the library's other
modules. A peer is a module with one function::

    def setup(task) -> explain

`setup` is given all there is to know (`task.Task`), imports and prepares the peer, and returns a function
from a row of codes to rows of codes, the best first.
"""
