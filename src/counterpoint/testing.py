"""The promises of every answer, as checks that anyone's own explainer can be run through."""
