"""What are the parts of one text, and what does it become when one is changed? Reads and writes no file itself."""
