"""What a peer that cannot run at all raises."""


class PeerError(RuntimeError):
    """A peer could not be installed or set up. What fails on one instance is in `PeerRun.errors`.

    Examples
    --------
    >>> raise PeerError("DiCE's gradient method explains two classes only.")
    Traceback (most recent call last):
        ...
    counterpoint_study.peers.errors.PeerError: DiCE's gradient method explains two classes only.
    """
