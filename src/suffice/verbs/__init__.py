"""What people ask: one question, and a module for each verb with the answer it gives."""
