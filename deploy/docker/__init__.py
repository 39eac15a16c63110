"""Images: what each is made of, and building them."""
