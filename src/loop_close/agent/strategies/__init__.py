"""Exit strategies: each takes what is known at the end of a turn and says whether the loop goes on."""
