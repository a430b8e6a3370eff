"""What a run is trained on: its codec and the prepared parts of its corpus."""

import shutil
from dataclasses import dataclass
from pathlib import Path

from attention_book.foundations.bilingual import Bilingual
from attention_book.foundations.files import write_whole
from attention_book.runs.checkpoints import Tell
from attention_book.runs.codec import TextCodec
from attention_book.runs.corpora import PreparedCorpus, learn_codec, prepare_split
from attention_book.runs.corpora.held_out import Split
from attention_book.runs.folder import RunError, RunFolder
from attention_book.runs.settings import RunSettings
from attention_book.text import CorpusError


@dataclass(frozen=True)
class Material:
    """What a run is trained on.

    Attributes:
        codec: Text to numbers and back.
        train: The training pairs.
        validation: The pairs that it is looked at with; None: there are none.
    """

    codec: TextCodec
    train: PreparedCorpus
    validation: PreparedCorpus | None


def prepare_material(
    folder: RunFolder, settings: RunSettings, tell: Tell, *, anew: bool = False
) -> None:
    """Learn the codec and prepare the corpus in the folder of the run, unless they are there.

    Args:
        folder: Where the run lives.
        settings: All of them.
        tell: Hears that there is nothing to validate on.
        anew: Whether nothing was trained yet. Then what lies there is from a start that failed,
            perhaps of other settings or of files that were mended since: the codec is learned
            again, and a part of the corpus is kept only if it is what would be prepared.

    Raises:
        CorpusError: if the corpus cannot be read.
        ValueError: if the settings do not fit it.
    """
    if anew or not folder.codec.is_file():
        learned = learn_codec(settings.data, settings.text)
        write_whole(folder.codec, learned.to_json().encode())
    codec = read_codec(folder)
    splits: tuple[Split, ...] = ("train", "validation")
    for split in splits:
        if not anew and _is_prepared(folder.corpus(split), codec):
            continue
        try:
            prepare_split(folder.corpus(split), settings.data, split, codec)
        except CorpusError:
            if split == "train" or not _may_lack_validation(settings):
                raise
            # An older start's, of other files, would be taken for this one's.
            if folder.corpus(split).is_dir():
                shutil.rmtree(folder.corpus(split))
            tell(_NO_VALIDATION)


def open_material(folder: RunFolder) -> Material:
    """Open what :func:`prepare_material` has prepared.

    Raises:
        RunError: if the codec is missing, or none.
        CorpusError: if a part of the corpus is missing, damaged, or made with another codec.
    """
    codec, validation = read_codec(folder), folder.corpus("validation")
    return Material(
        codec,
        _opened(folder.corpus("train"), codec),
        _opened(validation, codec) if validation.is_dir() else None,
    )


def _is_prepared(folder: Path, codec: TextCodec) -> bool:
    try:
        _opened(folder, codec)
    except CorpusError:
        return False
    return True


def _opened(folder: Path, codec: TextCodec) -> PreparedCorpus:
    corpus = PreparedCorpus.open(folder)
    source, target = codec.source_vocabulary, codec.target_vocabulary
    expected = {
        **{"source_vocabulary": len(source), "target_vocabulary": len(target)},
        **{"source_pad": source.special_ids.pad, "target_pad": target.special_ids.pad},
        "target_bos": target.special_ids.bos,
    }
    found = {name: getattr(corpus.header, name) for name in expected}
    if found != expected:
        raise CorpusError(f"{folder}: expected numbers of this codec, {expected}, got {found}")
    return corpus


def read_codec(folder: RunFolder) -> TextCodec:
    """Return the codec of a run.

    Raises:
        RunError: if it is missing, or none.
    """
    try:
        return TextCodec.from_json(folder.codec.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise RunError(f"{folder.codec}: expected the codec of a run, got none: {error}") from error


def _may_lack_validation(settings: RunSettings) -> bool:
    """Whether a few lines of one's own may be too few to hold any out.

    The same files have just been read for the training, so nothing else is wrong with them.
    """
    return settings.data.corpus is None and not settings.data.validation


_NO_VALIDATION = Bilingual(
    "训练数据太少，没有留出验证数据，因此不计算验证损失。",
    "The training data is too little to hold validation data out: there is no validation loss.",
)
