"""What we measure, and against whom. Run it with `python -m bench`; `bench/README.md` tells how to read it."""
