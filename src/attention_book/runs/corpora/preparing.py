"""From settings to numbers: learning how a corpus is split, and preparing each of its parts."""

import hashlib
import json
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

from attention_book.runs.codec import TextCodec
from attention_book.runs.corpora.files import Skipped
from attention_book.runs.corpora.held_out import Split
from attention_book.runs.corpora.lines import read_lines
from attention_book.runs.corpora.prepared import PreparedCorpus
from attention_book.runs.settings import DataSettings, TextSettings
from attention_book.text import CorpusError


def learn_codec(data: DataSettings, text: TextSettings) -> TextCodec:
    """Learn words or subwords from the training part of a corpus.

    Words of the grammar are cut as the grammar cuts them.

    Raises:
        ValueError: if a language has no rule for words.
        CorpusError: if the corpus cannot be read.
        ImportError: if a library of the extra "text" is needed and not installed.

    >>> codec = learn_codec(DataSettings(corpus="phrasebook"), TextSettings())
    >>> codec.source_tokens("The girl reads.")
    ('the', 'girl', 'reads', '.')
    """
    finer = data.corpus == "grammar" and text.unit == "words"
    return TextCodec.learn(
        read_lines(data),
        text,
        (data.source, data.target),
        word_rule="grammar" if finer else "plain",
    )


def prepare_split(
    folder: str | Path,
    data: DataSettings,
    split: Split,
    codec: TextCodec,
    *,
    skipped: Skipped | None = None,
    progress: Callable[[int], object] | None = None,
) -> PreparedCorpus:
    """Prepare one part of a corpus in a folder, unless the folder holds it already.

    Only one process at a time may prepare a folder; the others open it then.

    Args:
        folder: Where to.
        data: Which corpus.
        split: Which part of it.
        codec: Makes numbers of text.
        skipped: Counts the lines that are left out, where the settings say so.
        progress: Is told now and then how many pairs are written.

    Raises:
        CorpusError: if the corpus cannot be read, or has no pair for this part, or the folder
            holds something else.
        OSError: if it cannot be written.

    >>> from tempfile import TemporaryDirectory
    >>> data = DataSettings(corpus="phrasebook", num_train=200)
    >>> codec = learn_codec(data, TextSettings())
    >>> with TemporaryDirectory() as folder:
    ...     len(prepare_split(Path(folder) / "train", data, "train", codec))
    200
    """
    skipped = Skipped() if skipped is None else skipped
    return PreparedCorpus.prepare(
        folder,
        codec.encode_pairs(read_lines(data, split, skipped=skipped)),
        vocabularies=(codec.source_vocabulary, codec.target_vocabulary),
        max_tokens=data.max_tokens,
        digest=corpus_digest(data, split, codec),
        skipped=skipped,
        progress=progress,
    )


def corpus_digest(data: DataSettings, split: Split, codec: TextCodec) -> str:
    """Return a short number made of all that the numbers of a part follow from.

    Of files it is their content that counts, not their names.

    Raises:
        CorpusError: if a file cannot be read.

    >>> data = DataSettings(corpus="phrasebook")
    >>> codec = learn_codec(data, TextSettings())
    >>> one, other = (corpus_digest(data, split, codec) for split in ("train", "test"))
    >>> one == other
    False
    """
    about = asdict(data) | {"split": split, "codec": codec.digest}
    for part in ("train", "validation", "test"):
        about[part] = [_digest_of(path) for path in getattr(data, part)]
    return hashlib.sha256(json.dumps(about, sort_keys=True).encode()).hexdigest()[:16]


def _digest_of(path: str) -> str:
    try:
        with open(path, "rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise CorpusError(f"{path}: cannot be read: {reason}") from error
