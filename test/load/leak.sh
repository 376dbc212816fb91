run_leak() { :; }
