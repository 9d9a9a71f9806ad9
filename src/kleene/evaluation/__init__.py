"""How good a network is: accuracy, calibration, baselines."""
