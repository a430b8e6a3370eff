"""What a ``config.json`` says of a decoder's sizes: heads, cache, experts, parameters."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from attention_book.foundations.checks import check_sizes
from attention_book.models.pretrained.stored_config import StoredConfig

#: What each setting is called: DeepSeek, GLM and Kimi; Mixtral and gpt-oss; Qwen.
_NUM_EXPERTS = ("n_routed_experts", "num_local_experts", "num_experts")


@dataclass(frozen=True, kw_only=True)
class DecoderOutline:
    """The sizes of a decoder-only model, of families that this book can read and of others.

    Attributes:
        vocabulary: Number of tokens.
        tied: Whether embedding and output layer are one matrix.
        d_model: Size of a token's vector between the layers.
        num_heads: Heads of queries.
        num_kv_heads: Heads of keys and values.
        d_k: Features of a head's keys.
        d_v: Features of a head's values.
        kv_rank: Size of the vector from which all heads' keys and values are made (MLA); 0: none.
        d_rope: Features of the one key with a position that is cached beside it.
        q_rank: Size of the vector from which the queries are made; 0: of the token's own.
        windows: For each layer how many tokens it sees; None: all.
        d_ff: Hidden features of the feed-forward networks that are no experts.
        num_dense: Number of layers, the first ones, that have no experts.
        num_experts: Experts of each other layer that a router chooses from; 0: none.
        num_chosen: How many of them a token uses.
        num_shared: How many more are used by every token.
        d_expert: Hidden features of an expert.

    >>> qwen = {"vocab_size": 151936, "tie_word_embeddings": True, "hidden_size": 1024,
    ...     "num_hidden_layers": 28, "num_attention_heads": 16, "num_key_value_heads": 8,
    ...     "head_dim": 128, "intermediate_size": 3072}
    >>> outline = DecoderOutline.of(qwen)
    >>> f"{outline.matrices():,}", outline.cache_bytes(num_tokens=1)
    ('595,984,384', 114688)
    """

    vocabulary: int
    tied: bool
    d_model: int
    num_heads: int
    num_kv_heads: int
    d_k: int
    d_v: int
    kv_rank: int
    d_rope: int
    q_rank: int
    windows: tuple[int | None, ...]
    d_ff: int
    num_dense: int
    num_experts: int
    num_chosen: int
    num_shared: int
    d_expert: int

    @classmethod
    def of(cls, config: Mapping[str, Any]) -> "DecoderOutline":
        """Return what a ``config.json`` says, by the names of the library transformers.

        Args:
            config: What the file holds; of a model that sees pictures, its part for text.

        Raises:
            PretrainedError: if a value is missing or out of range.
        """
        said = StoredConfig(config, place="config.json")
        layers, heads = (said.whole(f"num_{name}") for name in ("hidden_layers", "attention_heads"))
        d_model = said.whole("hidden_size")
        kv_rank = said.whole("kv_lora_rank", 0, least=0)
        d_k = said.whole("qk_nope_head_dim" if kv_rank else "head_dim", d_model // heads)
        name = next((name for name in _NUM_EXPERTS if said.values.get(name)), "")
        experts = said.whole(name) if name else 0
        return cls(
            vocabulary=said.whole("vocab_size"),
            tied=said.flag("tie_word_embeddings", False),
            d_model=d_model,
            num_heads=heads,
            num_kv_heads=said.whole("num_key_value_heads", heads),
            d_k=d_k,
            d_v=said.whole("v_head_dim", d_k) if kv_rank else d_k,
            kv_rank=kv_rank,
            d_rope=said.whole("qk_rope_head_dim") if kv_rank else 0,
            q_rank=said.whole("q_lora_rank", 0, least=0) if kv_rank else 0,
            windows=_windows(said, layers),
            d_ff=said.whole("intermediate_size"),
            num_dense=said.whole("first_k_dense_replace", 0, least=0) if experts else layers,
            num_experts=experts,
            num_chosen=said.whole("num_experts_per_tok") if experts else 0,
            num_shared=said.whole("n_shared_experts", 0, least=0),
            d_expert=said.whole("moe_intermediate_size", said.whole("intermediate_size")),
        )

    def cache_bytes(self, *, num_tokens: int, bytes_each: int = 2) -> int:
        """Return the bytes of the cache after so many tokens, 16 bits a number if not said.

        A layer with a window keeps no more tokens than its window, and with a latent vector (MLA)
        it keeps that, and the key with a position, in place of keys and values.
        """
        check_sizes(num_tokens=num_tokens, bytes_each=bytes_each)
        kept = sum(min(num_tokens, window or num_tokens) for window in self.windows)
        heads = self.num_kv_heads * (self.d_k + self.d_v)
        return kept * (self.kv_rank + self.d_rope if self.kv_rank else heads) * bytes_each

    def matrices(self, *, of_one_token: bool = False) -> int:
        """Return how many numbers the matrices have, without norms, biases and sinks.

        Args:
            of_one_token: Only those that one token is multiplied by: of the experts those it is
                sent to, and of the two matrices of words the output layer's.
        """
        words = self.vocabulary * self.d_model
        num_used = self.num_chosen if of_one_token else self.num_experts
        expert = 3 * self.d_model * self.d_expert
        router = self.d_model * self.num_experts
        sparse = (num_used + self.num_shared) * expert + router
        num_layers = len(self.windows)
        return (
            words * (1 if self.tied or of_one_token else 2)
            + num_layers * self._attention()
            + self.num_dense * 3 * self.d_model * self.d_ff
            + (num_layers - self.num_dense) * sparse
        )

    def _attention(self) -> int:
        """Return the numbers of one layer's projections."""
        output = self.num_heads * self.d_v * self.d_model
        queries = self.num_heads * (self.d_k + self.d_rope)
        if not self.kv_rank:
            kv = self.num_kv_heads * (self.d_k + self.d_v)
            return self.d_model * (queries + kv) + output
        down = self.d_model * (self.kv_rank + self.d_rope)
        up = self.kv_rank * self.num_heads * (self.d_k + self.d_v)
        two_steps = (self.d_model + queries) * self.q_rank
        return (two_steps or self.d_model * queries) + down + up + output


def _windows(said: StoredConfig, layers: int) -> tuple[int | None, ...]:
    """Return each layer's window: by its type, or in all layers but every so manyth."""
    window = said.maybe_whole("sliding_window")
    if window is None or said.values.get("use_sliding_window") is False:
        return (None,) * layers
    types = said.values.get("layer_types")
    if types is None:
        pattern = said.maybe_whole("sliding_window_pattern")
        return tuple(
            window if pattern is None or (i + 1) % pattern else None for i in range(layers)
        )
    if not isinstance(types, list) or len(types) != layers:
        raise said.refuse("layer_types", f"one for each of {layers} layers", types)
    return tuple(window if each == "sliding_attention" else None for each in types)


__all__ = ["DecoderOutline"]
