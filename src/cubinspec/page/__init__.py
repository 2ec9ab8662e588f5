"""Pages of HTML that need nothing else: a report of files, a difference of two builds."""
