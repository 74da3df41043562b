package short
