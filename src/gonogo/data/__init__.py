"""Data that ships with the product: each row or file with its source and date."""
