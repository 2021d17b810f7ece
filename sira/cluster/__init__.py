"""One expansion job over many machines: the driver writes the store, workers ask the model."""
