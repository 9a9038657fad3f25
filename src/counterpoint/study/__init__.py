"""The paper's study on tables, rerun: data sets, black boxes, methods, peers and measures."""
