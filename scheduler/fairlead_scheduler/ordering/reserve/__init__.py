"""The slots that are kept for short jobs.

`places` says as what a lane's next job counts and whether it may go; `blocked_lanes` keeps
those that may not, and says whose turn it is when a place becomes free.
"""
