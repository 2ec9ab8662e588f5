"""What imitates the finalizer of sm_100 and later."""
