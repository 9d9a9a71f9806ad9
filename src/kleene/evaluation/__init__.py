"""How good a network is: accuracy, calibration, uncertainty."""
