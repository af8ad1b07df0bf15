"""Reports of many customers' sales, built by jobs."""
