"""Files of each format, read a piece at a time; `kleene.data.files` chooses among them."""
