import sys
from pathlib import Path

# The benchmarks make large histories; a plain ``pytest`` does not have the folder it is started in.
sys.path.append(str(Path(__file__).parent.parent.parent))
