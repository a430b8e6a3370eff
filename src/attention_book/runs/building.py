"""What a run is trained on and with: codec and corpus, model, optimizer, random numbers."""

import ctypes
import math
import platform
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from attention_book.foundations.bilingual import Bilingual
from attention_book.foundations.files import write_whole
from attention_book.foundations.seed import mixed
from attention_book.models import LanguageModel, Seq2Seq, Seq2SeqConfig, Transformer
from attention_book.runs.batches import PreparedCorpus, learn_codec, prepare_split
from attention_book.runs.checkpoints import Tell
from attention_book.runs.codec import TextCodec
from attention_book.runs.corpus import Split
from attention_book.runs.folder import MachineError, RunError, RunFolder
from attention_book.runs.language.codec import PieceCodec
from attention_book.runs.language.documents import check_enough, read_documents
from attention_book.runs.language.packed import PackedCorpus, prepare_documents
from attention_book.runs.language.settings import AnySettings, DecoderSettings, LanguageSettings
from attention_book.runs.settings import ModelSettings, TrainingSettings
from attention_book.text import CorpusError
from attention_book.training import inverse_square_root_schedule, linear_schedule, xavier_
from attention_book.training.schedule import Schedule


class RandomNumbers:
    """Torch's random numbers as one process of a run draws them, for dropout and first weights.

    Args:
        seed: Where they begin.
        device: A GPU has numbers of its own.

    >>> numbers = RandomNumbers(42, torch.device("cpu"))
    >>> with numbers:
    ...     first = torch.rand(())
    >>> _ = torch.rand(5)  # the caller's
    >>> with numbers:
    ...     second = torch.rand(())
    >>> _ = torch.manual_seed(42)
    >>> torch.rand(2).tolist() == [float(first), float(second)]
    True
    """

    def __init__(self, seed: int, device: torch.device) -> None:
        self._device = device
        self._outside: dict[str, Tensor] = {}
        self.states: dict[str, Tensor] = {}
        with self:
            torch.manual_seed(seed)

    def __enter__(self) -> "RandomNumbers":
        """Go on with the run's numbers."""
        self._outside = self._current()
        self._set(self.states)
        return self

    def __exit__(self, *exception: object) -> None:
        """Keep where they stand, and put back those of the caller."""
        self.states = self._current()
        self._set(self._outside)

    def _current(self) -> dict[str, Tensor]:
        states = {"cpu": torch.get_rng_state()}
        if self._device.type == "cuda":
            states["cuda"] = torch.cuda.get_rng_state(self._device)
        if self._device.type == "mps":
            states["mps"] = torch.mps.get_rng_state()
        return states

    def _set(self, states: Mapping[str, Tensor]) -> None:
        if "cpu" in states:
            torch.set_rng_state(states["cpu"])
        if "cuda" in states and self._device.type == "cuda":
            torch.cuda.set_rng_state(states["cuda"], self._device)
        if "mps" in states and self._device.type == "mps":
            torch.mps.set_rng_state(states["mps"])


def seed_of(seed: int, rank: int, step: int = 0) -> int:
    """Return another seed for every process; the first one has that of the settings.

    >>> seed_of(42, 0), seed_of(42, 1) != seed_of(42, 2)
    (42, True)
    """
    if not rank and not step:
        return seed
    return mixed(seed, rank, step)


@contextmanager
def drawn_from(seed: int) -> Iterator[None]:
    """Draw from the seed within, and go on outside as if nothing had been drawn.

    >>> with drawn_from(42):
    ...     torch.rand(2)
    tensor([0.8823, 0.9150])
    """
    with torch.random.fork_rng(devices=range(torch.cuda.device_count())):
        torch.manual_seed(seed)
        yield


#: What the forward pass is computed in, where that is safe; None: in the weights' own type.
DTYPES: dict[str, torch.dtype | None] = {
    "float32": None,
    "bfloat16": torch.bfloat16,
    "float16": torch.float16,
}


#: What a run can train.
Model = Transformer | Seq2Seq | LanguageModel
AnyModelSettings = ModelSettings | DecoderSettings
Codec = TextCodec | PieceCodec


def build_model(settings: AnyModelSettings, codec: Codec) -> Model:
    """Return a new model for the vocabularies of a codec, drawn from torch's random numbers.

    >>> from attention_book.runs.settings import TextSettings
    >>> codec = TextCodec.learn([("Go.", "Va !")], TextSettings(), ("en", "fr"))
    >>> build_model(ModelSettings(), codec).config.target_vocabulary
    6
    """
    if isinstance(settings, DecoderSettings):
        return build_decoder(settings, language_codec(codec))
    if isinstance(codec, PieceCodec):
        raise RunError("codec: expected that of two languages, got that of a language model")
    config = settings.model_config(
        source_vocabulary=len(codec.source_vocabulary),
        target_vocabulary=len(codec.target_vocabulary),
    )
    model = Seq2Seq(config) if isinstance(config, Seq2SeqConfig) else Transformer(config)
    return xavier_(model) if settings.xavier else model


def language_codec(codec: Codec) -> PieceCodec:
    """Return a language model's codec; refuse a translator's."""
    if not isinstance(codec, PieceCodec):
        raise RunError("codec: expected that of a language model, got that of two languages")
    return codec


# The deviation of the first weights, and of those that are added to the residual stream.
_SMALL = 0.02
_ADDED = ("self_attention.W_o.weight", "feed_forward.W_2.weight")


def build_decoder(settings: DecoderSettings, codec: PieceCodec) -> LanguageModel:
    """Return a new language model, its matrices normal and small.

    Their deviation is 0.02; of those that add to the residual stream it is divided by
    :math:`\\sqrt{2N}`, so that a sum of N layers is no larger than one (Radford et al. 2019).

    >>> from attention_book.runs.language.settings import PieceSettings
    >>> codec = PieceCodec.learn(["abc", "abd"], PieceSettings())  # 4 specials, 256 bytes, "ab"
    >>> build_decoder(DecoderSettings(config={"d_model": 32}), codec).config.vocabulary
    261
    """
    model = LanguageModel(settings.model_config(vocabulary=len(codec.vocabulary)))
    for name, weight in model.named_parameters():
        if weight.ndim > 1:
            added = name.endswith(_ADDED)
            depth = math.sqrt(2 * model.config.num_layers) if added else 1
            nn.init.normal_(weight, std=_SMALL / depth)
    return model


def build_optimizer(model: nn.Module, settings: TrainingSettings) -> torch.optim.Optimizer:
    """Return AdamW (Loshchilov and Hutter 2019); without decay it is Adam.

    Matrices decay; gains and biases do not.

    >>> build_optimizer(nn.Linear(2, 2), TrainingSettings(betas=(0.9, 0.98))).defaults["betas"]
    (0.9, 0.98)
    """
    options: dict[str, Any] = {"lr": settings.learning_rate, "betas": settings.betas}
    if not settings.weight_decay:
        return torch.optim.AdamW(model.parameters(), weight_decay=0.0, fused=True, **options)
    matrices = [weight for weight in model.parameters() if weight.ndim > 1]
    others = [weight for weight in model.parameters() if weight.ndim < 2]
    groups = [
        {"params": matrices, "weight_decay": settings.weight_decay},
        {"params": others, "weight_decay": 0.0},
    ]
    return torch.optim.AdamW(groups, fused=True, **options)


def build_schedule(settings: TrainingSettings, num_steps: int) -> Schedule:
    """Return what to multiply the learning rate by in a step: 1 at its peak.

    A training that is shorter than its warm-up rises to the last step.

    >>> settings = TrainingSettings(schedule="constant", warmup=4)
    >>> [build_schedule(settings, 9)(step) for step in (1, 2, 4, 9)]
    [0.25, 0.5, 1.0, 1.0]
    """
    warmup = min(settings.warmup, num_steps)
    if settings.schedule == "linear":
        return linear_schedule(num_steps=num_steps, warmup=warmup)
    if settings.schedule == "inverse-square-root":
        return inverse_square_root_schedule(warmup=warmup)
    return lambda step: min(1.0, step / warmup) if warmup else 1.0


# Of glibc's mallopt: blocks that the system lends one by one; and, on top of what is in use, how
# much is asked for at a time and how much may stay free before it is handed back.
_M_MMAP_MAX, _M_TOP_PAD, _M_TRIM_THRESHOLD = -4, -2, -1
_AT_ONCE = 256 * 2**20
# A weight, its gradient and the two moments of Adam, in four bytes each.
_BYTES_A_WEIGHT = 16
_WORTH_SAYING = 10**9


def check_memory(
    settings: AnyModelSettings,
    codec: Codec,
    device: torch.device,
    tell: Tell,
    *,
    shares: int = 1,
) -> None:
    """See that there is memory for a model and its optimizer before there is either.

    What a batch takes comes on top, and is not known before.

    Args:
        settings: The model's.
        codec: Has its vocabularies.
        device: Where it will be trained.
        tell: Hears how much it is, if it is a gigabyte or more.
        shares: Among how many processes the weights are shared.
    """
    needed = bytes_needed(settings, codec) // shares
    if needed < _WORTH_SAYING:
        return
    free = free_memory(device)
    told = f"{needed / 1e9:.1f} GB"
    if free is not None and needed > free:
        raise MachineError(
            f"memory: expected {told} for weights, gradients and moments, got {free / 1e9:.1f} GB"
        )
    tell(
        Bilingual(
            f"权重、梯度和优化器的状态要 {told} 内存；批量的另算。",
            f"weights, gradients and moments take {told} of memory; batches come on top",
        )
    )


def bytes_needed(settings: AnyModelSettings, codec: Codec) -> int:
    """Return how many bytes the weights, their gradients and Adam's moments take.

    >>> from attention_book.runs.settings import TextSettings
    >>> codec = TextCodec.learn([("Go.", "Va !")], TextSettings(), ("en", "fr"))
    >>> bytes_needed(ModelSettings(kind="seq2seq", config={"d_hidden": 1}), codec) % 16
    0
    """
    with torch.device("meta"):
        model = build_model(settings, codec)
    return sum(weight.numel() for weight in model.parameters()) * _BYTES_A_WEIGHT


def free_memory(device: torch.device, description: Path = Path("/proc/meminfo")) -> int | None:
    """Return how many bytes are free; None where nobody knows.

    >>> free_memory(torch.device("cpu"), Path("nowhere"))
    """
    if device.type == "cuda":
        return torch.cuda.mem_get_info(device)[0]
    try:
        lines = description.read_text(encoding="ascii").splitlines()
    except (OSError, ValueError):
        return None
    found = (line.split()[1] for line in lines if line.startswith("MemAvailable:"))
    kilobytes = next(found, None)
    return None if kilobytes is None else int(kilobytes) * 1024


def keep_freed_memory() -> bool:
    """Let the C library keep large blocks that a step frees, and return whether it does.

    The scores for a vocabulary of 10,000 words take hundreds of MiB a step. As it is, glibc hands
    such blocks back each time, and the system fills each new page with zeros: a quarter of the
    time of a small model's step. Other C libraries are left as they are. It holds for the whole
    process, so only a program of its own asks for it.
    """
    if platform.libc_ver()[0] != "glibc":
        return False
    mallopt = ctypes.CDLL(None).mallopt
    wishes = {_M_MMAP_MAX: 0, _M_TOP_PAD: _AT_ONCE, _M_TRIM_THRESHOLD: -1}
    return all(mallopt(name, value) == 1 for name, value in wishes.items())


@dataclass(frozen=True)
class Material:
    """What a run is trained on.

    Attributes:
        codec: Text to numbers and back.
        train: The training pairs, or documents.
        validation: Those that it is looked at with; None: there are none.
    """

    codec: Codec
    train: PreparedCorpus | PackedCorpus
    validation: PreparedCorpus | PackedCorpus | None


def prepare_material(
    folder: RunFolder, settings: AnySettings, tell: Tell, *, anew: bool = False
) -> None:
    """Learn the codec and prepare the corpus in the folder of the run, unless they are there.

    Args:
        folder: Where the run lives.
        settings: All of them.
        tell: Hears that there is nothing to validate on.
        anew: Whether nothing was trained yet. Then what lies there is from a start that failed,
            perhaps of other settings or of files that were mended since: the codec is learned
            again, and a part of the corpus is kept only if it is what would be prepared.
    """
    if anew or not folder.codec.is_file():
        learned: Codec
        if isinstance(settings, LanguageSettings):
            check_enough(read_documents(settings.data), _name(settings))
            learned = PieceCodec.learn(read_documents(settings.data), settings.text)
        else:
            learned = learn_codec(settings.data, settings.text)
        write_whole(folder.codec, learned.to_json().encode())
    codec = read_codec(folder, settings)
    splits: tuple[Split, ...] = ("train", "validation")
    for split in splits:
        if not anew and _is_prepared(folder.corpus(split), codec, _context(settings)):
            continue
        try:
            _prepare(folder.corpus(split), settings, split, codec)
        except CorpusError:
            if split == "train" or not _may_lack_validation(settings):
                raise
            # An older start's, of other files, would be taken for this one's.
            if folder.corpus(split).is_dir():
                shutil.rmtree(folder.corpus(split))
            tell(_NO_VALIDATION)


def _prepare(folder: Path, settings: AnySettings, split: Split, codec: Codec) -> None:
    if isinstance(settings, LanguageSettings):
        prepare_documents(folder, settings.data, split, language_codec(codec))
    elif isinstance(codec, TextCodec):
        prepare_split(folder, settings.data, split, codec)


def _name(settings: LanguageSettings) -> str:
    return settings.data.corpus or " and ".join(settings.data.train)


def open_material(folder: RunFolder) -> Material:
    """Open what :func:`prepare_material` has prepared."""
    settings = folder.settings()
    codec, context = read_codec(folder, settings), _context(settings)
    validation = folder.corpus("validation")
    return Material(
        codec,
        _opened(folder.corpus("train"), codec, context),
        _opened(validation, codec, context) if validation.is_dir() else None,
    )


def _context(settings: AnySettings) -> int:
    """Return how many tokens a row has; a translator's batches have no rows of one width."""
    return settings.model.context if isinstance(settings, LanguageSettings) else 0


def _is_prepared(folder: Path, codec: Codec, context: int) -> bool:
    try:
        _opened(folder, codec, context)
    except CorpusError:
        return False
    return True


def _opened(folder: Path, codec: Codec, context: int) -> PreparedCorpus | PackedCorpus:
    corpus: PreparedCorpus | PackedCorpus
    if isinstance(codec, PieceCodec):
        corpus = PackedCorpus(folder, context)
        expected = {"vocabulary": len(codec.vocabulary)}
    else:
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


def read_codec(folder: RunFolder, settings: AnySettings) -> Codec:
    """Return the codec of a run with these settings: a translator's, or a language model's."""
    kind = PieceCodec if isinstance(settings, LanguageSettings) else TextCodec
    try:
        return kind.from_json(folder.codec.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise RunError(f"{folder.codec}: expected the codec of a run, got none: {error}") from error


def _may_lack_validation(settings: AnySettings) -> bool:
    """Whether a few lines of one's own may be too few to hold any out.

    The same files have just been read for the training, so nothing else is wrong with them.
    """
    return settings.data.corpus is None and not settings.data.validation


_NO_VALIDATION = Bilingual(
    "训练数据太少，没有留出验证数据，因此不计算验证损失。",
    "The training data is too little to hold validation data out: there is no validation loss.",
)
