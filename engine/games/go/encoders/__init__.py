"""What nets see of Go: :mod:`planes` is ours, :mod:`katago` KataGo's."""
