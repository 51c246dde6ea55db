"""Steps in a store, and folds over them."""
