"""The paper's study, rerun: data sets, black boxes, methods, peers and measures."""
