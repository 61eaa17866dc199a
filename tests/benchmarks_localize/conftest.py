import sys
from pathlib import Path

sys.path.append(
    str(Path(__file__).parents[2])
)  # a plain ``pytest`` does not have the folder it is started in
