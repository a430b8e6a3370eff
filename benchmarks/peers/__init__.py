"""The Transformer beside those of torch.nn, d2l, Hugging Face transformers and x-transformers.

    make peers                                     # all, in a venv of its own
    PYTHONPATH=benchmarks python -m peers --tiny   # a try, with what is installed

The results are kept in benchmarks/peers.md and, with all numbers, benchmarks/peers.json.

All have the same architecture: the paper's, post-norm, sinusoidal positions, ReLU, the target
embedding as output layer, dropout on embeddings and on sublayers' outputs. The attention's
projections have biases, except beside x-transformers, which knows neither those nor biases of
norms; there, ours has none either. Before anything is timed all get the same weights, and must
have as many parameters, give the same logits, and the same gradients where they keep the same
parameters; and no word that one writes may be worse, for ours, than another.

All programs of a comparison take turns in one run (see paired.py).

1. training step: forward pass, loss, backward pass, clipping, Adam.
2. time to a loss: whole epochs over the phrasebook, the same batches for all.
3. greedy decoding, and beams of 4: reading a batch of sources and writing so many tokens each.
4. memory: the most that a process of its own ever held, for decoding and for training steps.

Every time is also given as a share of what the machine can do: of its fastest matrix product,
and of its fastest copy, both measured in the same run. On a GPU it is checked besides that
neither a step's forward and backward pass nor a step of decoding waits for the device.
"""
