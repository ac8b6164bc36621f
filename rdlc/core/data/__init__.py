"""Which files a run learns from: pretrained weights, text, and how sure their identity is."""
