"""Values in, values out: no files, network, clock, environment, Click or Rich."""
