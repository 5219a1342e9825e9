"""How a text is shortened, by its form: `routing` tells the form; the others know one each."""
