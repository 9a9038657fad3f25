"""Raw files: in which order they are looked for, and what each source does."""

import hashlib
import http.server
import shutil
import subprocess
import sys
import threading
import venv
import zipfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from counterpoint.datasets import DatasetError, fetch
from counterpoint.datasets.sources import Address, Debian, Source, Wheel, ZipAddress

CONTENT = b"petal,sepal\n1,2\n"
CHECKSUM = hashlib.sha256(CONTENT).hexdigest()


@pytest.fixture
def cached(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return where the cache keeps iris.csv; the cache is empty and no folder is named."""
    monkeypatch.setattr(fetch, "cache_folder", lambda: tmp_path / "cache")
    monkeypatch.delenv(fetch.FOLDER_VARIABLE, raising=False)
    return tmp_path / "cache" / "iris.csv"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cached: Path) -> Path:
    """Return a folder of the user's own."""
    (tmp_path / "own").mkdir()
    monkeypatch.setenv(fetch.FOLDER_VARIABLE, str(tmp_path / "own"))
    return tmp_path / "own"


@pytest.fixture
def shelf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cached: Path) -> Path:
    """Return the only folder pip looks for packages in; flowers 1.0 is there."""
    shelf = tmp_path / "shelf"
    shelf.mkdir()
    with zipfile.ZipFile(shelf / "flowers-1.0-py3-none-any.whl", "w") as wheel:
        wheel.writestr("flowers/iris.csv", CONTENT)
        wheel.writestr(
            "flowers-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: flowers\nVersion: 1.0\n"
        )
        wheel.writestr("flowers-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\n")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(shelf))
    return shelf


@pytest.fixture
def mirror(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cached: Path) -> Path:
    """Return the only place apt-get looks for packages at; flowers 1.0 is there."""
    if shutil.which("apt-get") is None:
        pytest.skip("this machine has no apt-get")
    mirror, apt, tree = tmp_path / "mirror", tmp_path / "apt", tmp_path / "tree"
    for path in (mirror, apt / "lists" / "partial", apt / "cache", tree / "DEBIAN", tree / "usr" / "share"):
        path.mkdir(parents=True)
    fields = "Package: flowers\nVersion: 1.0\nArchitecture: all\nMaintainer: nobody\nDescription: none\n"
    (tree / "DEBIAN" / "control").write_text(fields)
    (tree / "usr" / "share" / "iris.csv").write_bytes(CONTENT)
    package = mirror / "flowers_1.0_all.deb"
    subprocess.run(["dpkg-deb", "--build", str(tree), str(package)], check=True, capture_output=True)
    checksum = hashlib.sha256(package.read_bytes()).hexdigest()
    place = f"Filename: ./{package.name}\nSize: {package.stat().st_size}\nSHA256: {checksum}\n"
    (mirror / "Packages").write_text(fields + place)
    (apt / "sources.list").write_text(f"deb [trusted=yes] copy:{mirror} ./\n")
    (apt / "status").touch()
    (apt / "apt.conf").write_text(
        f'Dir::State "{apt}"; Dir::State::status "{apt}/status"; Dir::Cache "{apt}/cache";'
        f'Dir::Etc::sourcelist "{apt}/sources.list"; Dir::Etc::sourceparts "-"; APT::Sandbox::User "";'
    )
    monkeypatch.setenv("APT_CONFIG", str(apt / "apt.conf"))
    return mirror


@pytest.fixture
def site(tmp_path: Path) -> Iterator[str]:
    """Serve iris.csv, and a zip with it, at an address."""
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "iris.csv").write_bytes(CONTENT)
    with zipfile.ZipFile(tmp_path / "site" / "flowers.zip", "w") as archive:
        archive.writestr("iris.csv", CONTENT)

    class Handler(http.server.SimpleHTTPRequestHandler):
        def log_message(self, format: str, *args: object) -> None:
            pass

    with http.server.ThreadingHTTPServer(
        ("127.0.0.1", 0), partial(Handler, directory=str(tmp_path / "site"))
    ) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def wheel(version: str = "1.0", member: str = "flowers/iris.csv", sha256: str = CHECKSUM) -> Wheel:
    return Wheel("flowers", version, member, sha256)


def iris(*sources: Source) -> fetch.RawFile:
    return fetch.RawFile("iris.csv", sources)


class Unreachable:
    """A source that must not be asked."""

    sha256 = CHECKSUM

    def read(self, folder: Path) -> bytes:
        pytest.fail("the source was asked")


def test_own_folder_comes_first(folder: Path, cached: Path) -> None:
    for path in (folder / "iris.csv", cached):
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(CONTENT)
    assert fetch.fetch(iris(Unreachable())) == folder / "iris.csv"


def test_own_folder_without_the_file_is_passed_by(folder: Path, cached: Path) -> None:
    cached.parent.mkdir()
    cached.write_bytes(CONTENT)
    assert fetch.fetch(iris(Unreachable())) == cached


def test_another_file_in_the_own_folder_is_an_error_at_once(folder: Path) -> None:
    (folder / "iris.csv").write_bytes(b"something else")
    with pytest.raises(DatasetError, match=rf"own/iris.csv .*SHA-256 is [0-9a-f]{{64}}, must be {CHECKSUM}"):
        fetch.fetch(iris(Unreachable()))


def test_wheel_fills_the_cache_and_the_cache_is_reused(
    shelf: Path, cached: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert fetch.fetch(iris(wheel())) == cached
    assert capsys.readouterr() == ("", "counterpoint: downloading package flowers==1.0 with pip\n")
    assert [path.name for path in cached.parent.iterdir()] == ["iris.csv"]
    assert cached.read_bytes() == CONTENT
    assert fetch.fetch(iris(Unreachable())) == cached


def test_spoilt_cache_is_replaced(shelf: Path, cached: Path) -> None:
    cached.parent.mkdir()
    cached.write_bytes(CONTENT[:5])
    assert fetch.fetch(iris(wheel())).read_bytes() == CONTENT


def test_address_comes_after_the_wheel(shelf: Path, cached: Path, site: str) -> None:
    address = Address(f"{site}/iris.csv", CHECKSUM)
    assert fetch.fetch(iris(wheel(version="2.0"), address)) == cached
    assert cached.read_bytes() == CONTENT


def test_sources_may_differ_in_their_bytes(cached: Path) -> None:
    cached.parent.mkdir()
    cached.write_bytes(CONTENT)
    assert fetch.fetch(iris(wheel(sha256="0" * 64), Unreachable())) == cached


def test_no_way_names_each_way_and_its_reason(folder: Path, shelf: Path, cached: Path, site: str) -> None:
    sources = (
        wheel(version="2.0"),
        wheel(member="flowers/tulips.csv"),
        wheel(sha256="0" * 64),
        Address(f"{site}/tulips.csv", CHECKSUM),
        Address(f"{site}/iris.csv", "0" * 64),
    )
    with pytest.raises(DatasetError) as error:
        fetch.fetch(iris(*sources))
    first, *ways, last = str(error.value).splitlines()
    assert first == "Cannot get iris.csv. Tried:"
    for way, *said in [
        ("folder COUNTERPOINT_DATA: ", str(folder), "does not contain iris.csv"),
        ("cache: ", str(cached.parent), "does not contain iris.csv"),
        ("package flowers==2.0: ", "No matching distribution found for flowers==2.0"),
        ("package flowers==1.0: ", "the wheel does not contain flowers/tulips.csv"),
        ("package flowers==1.0: ", f"SHA-256 is {CHECKSUM}, must be {'0' * 64}"),
        (f"address {site}/tulips.csv: ", "404"),
        (f"address {site}/iris.csv: ", "0" * 64),
    ]:
        line = ways.pop(0).strip()
        assert line.startswith(way)
        assert all(part in line for part in said)
    assert not ways
    assert "set COUNTERPOINT_DATA" in last
    assert not cached.exists()


def test_no_pip_is_a_reason(cached: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    venv.create(tmp_path / "bare", with_pip=False)
    bare = next((tmp_path / "bare").glob("[bS]*/python*"))
    monkeypatch.setattr(sys, "executable", str(bare))
    with pytest.raises(DatasetError, match=r"package flowers==1.0: .*No module named pip"):
        fetch.fetch(iris(wheel()))


def test_no_pooch_is_told_with_the_cure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(fetch.FOLDER_VARIABLE, raising=False)
    monkeypatch.setitem(sys.modules, "pooch", None)
    with pytest.raises(ImportError, match=r"pip install 'counterpoint\[datasets\]'"):
        fetch.fetch(iris(wheel()))


def test_failed_write_leaves_nothing_behind(
    shelf: Path, cached: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cached.mkdir(parents=True)  # a folder where the file should go: it cannot be replaced
    with pytest.raises(DatasetError, match=r"package flowers==1.0: .*directory"):
        fetch.fetch(iris(wheel()))
    assert list(cached.parent.iterdir()) == [cached]


def test_package_with_several_files_is_downloaded_once(
    shelf: Path, cached: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = [fetch.RawFile(f"flowers/{copy}.csv", (wheel(),)) for copy in "ab"]
    assert fetch.fetch_all(files) == [cached.parent / "flowers" / f"{copy}.csv" for copy in "ab"]
    assert capsys.readouterr().err.count("downloading") == 1


# --- Debian packages and zips ----------------------------------------------------------------------------


def debian(member: str = "usr/share/iris.csv") -> Debian:
    return Debian("flowers", member, CHECKSUM)


def test_debian_package_is_read_without_being_installed(
    mirror: Path, cached: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    subprocess.run(["apt-get", "update"], check=True, capture_output=True)
    files = [fetch.RawFile(f"{copy}.csv", (debian(),)) for copy in "ab"]
    assert [path.read_bytes() for path in fetch.fetch_all(files)] == [CONTENT, CONTENT]
    assert capsys.readouterr().err == "counterpoint: downloading Debian package flowers with apt-get\n"
    with pytest.raises(DatasetError, match=r"flowers: the package does not contain usr/share/tulips\.csv"):
        fetch.fetch(iris(debian("usr/share/tulips.csv")))
    with pytest.raises(DatasetError, match=r"flowers: the package does not contain usr/share\n"):
        fetch.fetch(iris(debian("usr/share")))


def test_debian_package_apt_get_does_not_know_is_told_with_the_cure(mirror: Path) -> None:
    with pytest.raises(DatasetError, match=r"flowers: Unable to locate package flowers .*'apt-get update'"):
        fetch.fetch(iris(debian()))


def test_no_apt_get_is_a_reason_and_the_next_source_is_asked(
    cached: Path, site: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(DatasetError, match="Debian package flowers: this machine has no apt-get"):
        fetch.fetch(iris(debian()))
    assert fetch.fetch(iris(debian(), Address(f"{site}/iris.csv", CHECKSUM))).read_bytes() == CONTENT


def test_zip_at_an_address(cached: Path, site: str, capsys: pytest.CaptureFixture[str]) -> None:
    source = ZipAddress(f"{site}/flowers.zip", "iris.csv", CHECKSUM)
    files = [fetch.RawFile(f"{copy}.csv", (source,)) for copy in "ab"]
    assert [path.read_bytes() for path in fetch.fetch_all(files)] == [CONTENT, CONTENT]
    assert capsys.readouterr().err.count("downloading") == 1


@pytest.mark.parametrize(("name", "member"), [("flowers.zip", "tulips.csv"), ("iris.csv", "iris.csv")])
def test_zip_without_the_file_is_a_reason(name: str, member: str, cached: Path, site: str) -> None:
    with pytest.raises(DatasetError, match=f"address {site}/{name}: the zip does not contain {member}"):
        fetch.fetch(iris(ZipAddress(f"{site}/{name}", member, CHECKSUM)))
