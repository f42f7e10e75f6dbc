"""What the operating system gives: files, processes and threads, memory and limits."""
