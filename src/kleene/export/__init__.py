"""Networks and automata as ONNX graphs."""
