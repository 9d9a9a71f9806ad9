"""Records of what a network does: from every state, along words, and in its memory."""
