"""The specification is not ours to copy, so what is tested against it is collected only where one is given."""

from tests import SPECIFICATION

collect_ignore = [] if SPECIFICATION else ["test_specification.py"]
