"""What an agent's loop is judged by: what it says, what its tools gave back, what it may spend. Pure functions."""
