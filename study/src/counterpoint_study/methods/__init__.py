"""Who is compared: our explainers and the peers."""
