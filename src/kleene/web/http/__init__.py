"""What stands between a socket and the application: limits, access rules, metrics and logs."""
