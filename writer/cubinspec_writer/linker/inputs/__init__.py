"""What a link is made of: the command line, archives, host objects, relocatable cubins as rows."""
