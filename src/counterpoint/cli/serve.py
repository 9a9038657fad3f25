"""`counterpoint serve`: a web service that explains decisions."""

from __future__ import annotations

import argparse
import os
import signal
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from counterpoint._util.short_text import short
from counterpoint.cli.errors import Exit, InputError, need
from counterpoint.cli.fitted import fitted_session
from counterpoint.cli.options import add_constraints, add_model
from counterpoint.cli.terminal import tell
from counterpoint.web.limits import Bounds

ABOUT = "Answer over HTTP what would have to change for decisions of a model to be different."

MORE = """\
asks       POST /explain with {"rows": [{"age": 31, …}], "k": 3}; GET /openapi.json describes the rest.
token      in the variable COUNTERPOINT_TOKEN, or in a file: --token-file. Without one, everybody who can
           reach the service may use it.
safety     it answers on this machine only unless --host says otherwise, under the names of this machine
           unless --allow-host adds others, and to no other site's pages unless --allow-origin names them.
stop       SIGTERM or control-c: requests that have begun are answered first.
"""

TOKEN = "COUNTERPOINT_TOKEN"
# Connections that may wait to be taken up.
BACKLOG = 2_048
# The limits that can be set, and what each is about.
LIMITS = {
    "body": "bytes of a request",
    "rows": "rows of a request to explain",
    "decisions": "rows of a request that asks for decisions only",
    "k": "counterfactuals per row",
    "seconds": "the longest deadline, and that of requests without one",
    "queue": "requests that wait",
    "together": "rows of one run, which share its time",
}


def add_serve(commands: Any, common: argparse.ArgumentParser) -> None:
    """Add the command."""
    parser = commands.add_parser(
        "serve",
        description=ABOUT,
        epilog=MORE,
        parents=[common],
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_model(parser)
    _add_address(parser)
    _add_limits(parser)
    add_constraints(parser)
    parser.add_argument("--quiet", action="store_true", help="say nothing but errors; no log of requests")
    parser.set_defaults(do=_serve)


def _add_address(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("where it answers, and to whom")
    group.add_argument("--name", default="model", help="of the model, in addresses of KServe (model)")
    group.add_argument("--host", default="127.0.0.1", help="the address to listen on (127.0.0.1)")
    group.add_argument("--port", type=int, default=8000, help="0 for any free one (8000)")
    group.add_argument("--token-file", type=Path, metavar="FILE", help="requests must send what it holds")
    group.add_argument("--tls-cert", type=Path, metavar="FILE.pem", help="a certificate, to answer by HTTPS")
    group.add_argument("--tls-key", type=Path, metavar="FILE.pem", help="its private key")
    group.add_argument(
        "--allow-host", action="append", default=[], metavar="NAME", help="a name it is known by; * for any"
    )
    group.add_argument(
        "--allow-origin", action="append", default=[], metavar="URL", help="a site whose pages may use it"
    )
    group.add_argument(
        "--allow-release", action="store_true", help="requests may release what constraints here forbid"
    )
    group.add_argument(
        "--share-known", action="store_true", help="tell the ranges and all categories of --data"
    )


def _add_limits(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("limits")
    for name, text in LIMITS.items():
        default = getattr(Bounds, name)
        group.add_argument(
            f"--most-{name}", type=type(default), default=default, metavar="N", help=f"{text} ({default:,})"
        )


def _serve(options: argparse.Namespace) -> int:
    uvicorn = need("uvicorn", "The service", "'counterpoint[serve]'")
    need("fastapi", "The service", "'counterpoint[serve]'")
    need("prometheus_client", "The service", "'counterpoint[serve]'")
    from counterpoint.web.logs import log_to_stderr

    tls = _tls(options)
    token = _token(options.token_file)
    app = application_of(options, token)
    if not options.quiet:
        log_to_stderr()
    config = uvicorn.Config(
        app, log_config=None, access_log=False, server_header=False, lifespan="off", backlog=BACKLOG, **tls
    )
    config.load()  # the certificate is read before anything is announced
    with listening(options.host, options.port) as place:
        _announce(options, place.getsockname()[1], bool(tls), token)
        with _ending_quietly():
            uvicorn.Server(config).run(sockets=[place])
    return int(Exit.DONE)


def listening(host: str, port: int) -> socket.socket:
    """Listen on an address, or say why not.

    Examples
    --------
    >>> with listening("127.0.0.1", 0) as place:
    ...     place.getsockname()[0]
    '127.0.0.1'
    """
    if not 0 <= port < 2**16:
        raise InputError(f"--port must be from 0 to {2**16 - 1}, got {port}.")
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, backlog=BACKLOG)
    except OSError as error:
        raise InputError(
            f"--host {host} --port {port} cannot be listened on: {error.strerror}. Give others."
        ) from error


@contextmanager
def _ending_quietly() -> Iterator[None]:
    """Take a signal as the wish to end: uvicorn finishes what it began, and then raises the signal again."""
    before = {each: signal.signal(each, lambda *_: None) for each in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)


def application_of(options: argparse.Namespace, token: str | None) -> Any:
    """Open the model, fit, and make the application."""
    from counterpoint.web.guards import LOOPBACK
    from counterpoint.web.service.app import application

    bounds = Bounds(**{name: getattr(options, f"most_{name}") for name in LIMITS})
    session = fitted_session(options, options.data)
    if named := session.known_rows.identifiers:
        tell(
            f"warning: {', '.join(map(short, named))} may change and looks like an identifier, so answers "
            f"may show whose rows they are. Leave such a column out by --drop, or keep it by --immutable."
        )
    return application(
        session.explainer,
        name=options.name,
        target=session.target,
        token=token,
        hosts=(*LOOPBACK, *_named(options.host), *options.allow_host),
        origins=tuple(options.allow_origin),
        bounds=bounds,
        release=options.allow_release,
        share=options.share_known,
        max_changes=session.job.question.max_changes,
    )


def _named(host: str) -> tuple[str, ...]:
    """Give the host's own name, unless it stands for all addresses."""
    return () if host in ("0.0.0.0", "::", "") else (host,)


def _token(path: Path | None) -> str | None:
    """Read the token from a file, or from the environment."""
    if path is None:
        return os.environ.get(TOKEN) or None
    try:
        token = path.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"--token-file {path} cannot be read: {error}") from error
    if not token:
        raise InputError(f"--token-file {path} is empty; write a token of at least 16 characters to it.")
    return token


def _tls(options: argparse.Namespace) -> dict[str, str]:
    """Give the files for HTTPS, both or none."""
    given = {"--tls-cert": options.tls_cert, "--tls-key": options.tls_key}
    missing = [name for name, path in given.items() if path is None]
    if len(missing) == 1:
        raise InputError(f"HTTPS needs a certificate and its key: add {missing[0]}.")
    for name, path in given.items():
        if path is not None and not path.is_file():
            raise InputError(f"{name} {path} is not a file.")
    return {} if missing else {"ssl_certfile": str(options.tls_cert), "ssl_keyfile": str(options.tls_key)}


def _announce(options: argparse.Namespace, port: int, is_tls: bool, token: str | None) -> None:
    if options.quiet:
        return
    host = f"[{options.host}]" if ":" in options.host else options.host
    tell(f"serving {options.name} at http{'s' * is_tls}://{host}:{port}; stop by control-c.")
    if token is None and options.host not in ("127.0.0.1", "localhost", "::1"):
        tell(f"warning: everybody who can reach {options.host} may use it; set {TOKEN} or --token-file.")
