"""How networks of texts start: PPMI embeddings, and states that n-grams teach."""
