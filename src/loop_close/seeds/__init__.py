"""What the project comes from: close_loop, exit strategies, SafetyGuard, ResponseAnalyzer, Supervisor.

``docs/agents.md`` says of each what is as its document has it, what differs, and why.
"""
