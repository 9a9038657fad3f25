"""The black boxes and codecs of the study, trained once and kept."""
