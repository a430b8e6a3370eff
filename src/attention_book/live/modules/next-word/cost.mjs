/* What a pass through a language model costs, counted from its matrices. Multiplications are those of products
   of matrices, as attention_book.inspection.operations counts them; the output layer is asked after the last token alone. */

/** Of an opened model's file: numbers in the matrices of all layers and of the output layer, layers, numbers in
    a token's queries, and in the keys and values that a layer keeps of it. */
export function sizes({ config, tensors }) {
  const head = config.d_k ?? config.d_model / config.num_heads;
  const matrices = [...tensors].filter(([name]) => /^stack\.layers\..*\.W_\w+\.weight$/.test(name));
  return {
    layers: matrices.reduce((sum, [, weights]) => sum + weights.length, 0), readout: tensors.get("readout.weight").length,
    depth: config.num_layers, queries: config.num_heads * head, kept: 2 * (config.num_kv_heads ?? config.num_heads) * head,
  };
}

/** Read `tokens` at once behind `cached` others: multiplications, weights read, numbers read from the cache, and how
    many multiplications each weight is good for. */
export function pass({ layers, readout, depth, queries, kept }, { tokens, cached }) {
  const looks = tokens * cached + (tokens * (tokens + 1)) / 2, weights = layers + readout, products = tokens * layers + readout;
  return { tokens, multiplications: products + depth * 2 * queries * looks, weights, cache: depth * kept * cached, uses: products / weights };
}
