"""Images: patches, the Vision Transformer (ViT), and a small convolutional network."""
