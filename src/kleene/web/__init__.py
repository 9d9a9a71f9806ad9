"""`kleene serve`: a page and a JSON API for models, and the page of a training run."""
