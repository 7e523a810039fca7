"""One file per stage of the road; `data` makes what they read, `engines` names who reads it."""
