"""Reports of models as one HTML file, and pictures as matplotlib figures."""
