"""Chrome DevTools Protocol over a pipe: wire, typed commands and events, client. No policy, no retries."""
