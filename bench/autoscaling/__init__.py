"""The autoscaler's decision against others, over a simulated fleet."""
