"""The MCP server: what the command does, as tools of a host of agents. Only ``server`` imports ``mcp``."""
