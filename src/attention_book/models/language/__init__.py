"""Language models: causal (GPT), masked (BERT), and counted n-grams."""
