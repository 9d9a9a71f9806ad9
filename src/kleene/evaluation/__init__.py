"""How good a network is: accuracy, intervals, calibration, a baseline."""
