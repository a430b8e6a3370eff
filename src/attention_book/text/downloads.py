"""Downloads that resume after the connection breaks."""

import time
from collections.abc import Callable
from http.client import HTTPException
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import Request, urlopen

#: Is told how many bytes are there, and how many there will be (None: not known).
Report = Callable[[int, int | None], None]

_CHUNK = 1 << 16
_NOT_SATISFIABLE = 416


def download(
    url: str,
    part: Path,
    *,
    report: Report | None = None,
    attempts: int = 3,
    wait: float = 1.0,
    timeout: float = 30.0,
) -> None:
    """Download ``url`` into ``part``, continuing where an earlier download broke off.

    ``part`` is complete when the function returns. When it raises, ``part`` holds
    what has come so far, and the next call asks the server for the rest only.
    Whether the parts fit together is for the caller's checksum to say.

    Args:
        url: The address.
        part: Where the bytes go.
        report: Called after every piece.
        attempts: How often to try before giving up.
        wait: Seconds before the second attempt; before every other twice as long.
        timeout: Seconds of silence after which a connection counts as broken.

    Raises:
        OSError: if the last attempt has failed too, or the server has no such file.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     source, part = Path(folder) / "source", Path(folder) / "part"
    ...     _ = source.write_text("all of it")
    ...     download(source.as_uri(), part)
    ...     part.read_text()
    'all of it'
    """
    for attempt in range(1, attempts + 1):
        try:
            return _continue(url, part, report, timeout)
        except HTTPError as error:
            error.close()
            if error.code == _NOT_SATISFIABLE:  # longer than the file: of something else
                part.unlink()
            elif error.code < 500:
                raise
            failure: Exception = error
        except (OSError, HTTPException) as error:
            failure = error
        if attempt < attempts:
            time.sleep(wait * 2 ** (attempt - 1))
    raise OSError(f"{failure} ({attempts} attempts)") from failure


def _continue(url: str, part: Path, report: Report | None, timeout: float) -> None:
    here = part.stat().st_size if part.exists() else 0
    request = Request(url, headers={"Range": f"bytes={here}-"} if here else {})
    with urlopen(request, timeout=timeout) as response:
        if response.status != 206:  # the server sends everything, not the rest only
            here = 0
        length = response.headers["Content-Length"]
        total = None if length is None else here + int(length)
        with part.open("ab" if here else "wb") as file:
            while chunk := response.read(_CHUNK):
                file.write(chunk)
                here += len(chunk)
                if report is not None:
                    report(here, total)
    if total is not None and here != total:
        raise OSError(f"the connection broke after {here} of {total} bytes")
