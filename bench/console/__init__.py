"""How smooth the console is: in a real Chromium, at a real server, with ten thousand of everything."""
