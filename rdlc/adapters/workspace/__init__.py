"""Files, folders and git of the machine that rdlc runs on."""
