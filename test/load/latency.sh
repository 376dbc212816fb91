run_latency() { :; }
