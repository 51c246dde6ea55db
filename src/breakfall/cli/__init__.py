"""The command line: parse, call one function, render what it returned."""
