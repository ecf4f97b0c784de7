"""The yardstick of a start in Python: a program that only imports the client of Whop's own SDK."""

from whop_sdk import Whop

print("y" if Whop else "n", flush=True)
