"""The long-lived process: it watches projects and answers connections. Knows no SQL and no grammar."""
