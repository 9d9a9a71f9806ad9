"""From a trained LSTM to a counter machine."""
