from hypothesis import settings

# The first call of a compiled kernel takes seconds, and a failure should come again.
settings.register_profile("kleene", deadline=None, derandomize=True)
settings.load_profile("kleene")
