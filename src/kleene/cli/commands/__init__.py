"""The commands, a file each; `kleene.cli.app` lists them."""
