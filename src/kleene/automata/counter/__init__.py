"""Counter machines: automata with integer counters, compared and minimised up to a bound."""
