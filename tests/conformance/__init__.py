"""One case for each feature of the language, as data, run on every host: same outputs, same faults, same steps."""
